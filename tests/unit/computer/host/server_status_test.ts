import { assertEquals } from "@std/assert";
import { backoff } from "../../../../client/wire.ts";
import { parseComputerConfig } from "../../../../computer/config/parse_config.ts";
import {
  failuresAfterLoss,
  RESTART_POLICY,
} from "../../../../computer/host/hosted_server.ts";
import { failureOf } from "../../../../computer/host/server_status.ts";
import { ToolHost } from "../../../../computer/mod.ts";

Deno.test("failureOf() goes by class and code of an error and its causes, not by the text", () => {
  const coded = (code: string | number) =>
    Object.assign(new Error("exited with code 404, fetch failed, 401"), {
      code,
    });
  const rows: [error: unknown, failure: string | undefined][] = [
    [coded(401), "refused"],
    [coded(404), "not_found"],
    [coded(500), undefined],
    [coded("EACCES"), "not_executable"],
    [new Error("Cannot start", { cause: coded("EACCES") }), "not_executable"],
    [new TypeError("x", { cause: coded("ECONNREFUSED") }), "unreachable"],
    [new TypeError("error sending request"), "unreachable"],
    [new Error("exited with code 1; not ready within; EACCES"), undefined],
    ["exited with code 1", undefined],
  ];
  for (const [error, failure] of rows) {
    assertEquals(failureOf(error), failure, String(error));
  }
  const round = new Error("its own cause");
  round.cause = round;
  assertEquals(failureOf(round), undefined);
});

/** The failure of the only MCP server of a configuration. */
async function failureWith(
  server: Record<string, unknown>,
): Promise<string | undefined> {
  const { servers } = parseComputerConfig({ servers: { a: server } });
  await using host = new ToolHost({ servers });
  const failed = Promise.withResolvers<string | undefined>();
  host.on("serverState", ({ state, failure }) => {
    if (state === "failed") failed.resolve(failure);
  });
  host.start();
  return await failed.promise;
}

const stdio = (command: string, ...args: string[]) => ({
  type: "stdio",
  server_parameters: { command, args },
});

Deno.test("an MCP server that cannot start says what kind of failure it is", async () => {
  assertEquals(
    await failureWith(stdio(Deno.execPath(), "eval", "Deno.exit(7)")),
    "ended",
  );
  const file = await Deno.makeTempFile();
  await Deno.chmod(file, 0o644);
  try {
    assertEquals(await failureWith(stdio(file)), "not_executable");
  } finally {
    await Deno.remove(file);
  }
  for (const type of ["streamable", "sse"]) {
    const url = "http://127.0.0.1:1/mcp";
    assertEquals(
      await failureWith({ type, server_parameters: { url } }),
      "unreachable",
      type,
    );
  }
  for (const [status, failure] of [[404, "not_found"], [403, "refused"]]) {
    await using web = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      () => new Response("no", { status: Number(status) }),
    );
    const url = `http://127.0.0.1:${web.addr.port}/mcp`;
    for (const type of ["streamable", "sse"]) {
      assertEquals(
        await failureWith({ type, server_parameters: { url } }),
        failure,
        `${type} ${status}`,
      );
    }
  }
});

Deno.test("restarts of an MCP server wait twice as long each time up to a limit, with 50 % jitter", () => {
  const delays = (random: number) =>
    [0, 1, 2, 3, 40].map((n) => backoff(n, random, RESTART_POLICY));
  assertEquals(delays(0.5), [100, 200, 400, 800, 60_000]);
  assertEquals(delays(0), [50, 100, 200, 400, 30_000]);
  assertEquals(delays(1), [150, 300, 600, 1_200, 90_000]);
});

Deno.test("failuresAfterLoss() forgets earlier failures once a server ran long enough", () => {
  assertEquals(failuresAfterLoss(5, 9_999, RESTART_POLICY), 5);
  assertEquals(failuresAfterLoss(5, 10_000, RESTART_POLICY), 0);
});
