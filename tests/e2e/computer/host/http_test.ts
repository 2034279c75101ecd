import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { ServerSettings } from "../../../../computer/mod.ts";
import { startComputer } from "../../../support/computer/computer.ts";
import {
  AT_ONCE,
  connectionOf,
  reached,
  startHost,
  textOf,
  told,
} from "../../../support/computer/host.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { startHttpFixture } from "../../../support/fixtures/mcp_http.ts";
import { startProxy } from "../../../support/proxy.ts";

const TYPES = ["streamable", "sse"] as const;

const settings = (
  type: typeof TYPES[number],
  url: string,
  more: Record<string, unknown> = {},
): ServerSettings => ({ type, server_parameters: { url, ...more } });

for (const type of ["stdio", ...TYPES] as const) {
  Deno.test(`an MCP server over ${type} is called, announces new tools, and receives an abort`, async () => {
    await using server = type === "stdio"
      ? undefined
      : await startHttpFixture(type);
    const headers = { "x-key": "s3cret", "x-number": 5 };
    await using host = await startHost({
      a: type === "stdio"
        ? fixture()
        : settings(type, server?.url ?? "", { headers }),
    });
    await server?.requested("GET", 1); // what it tells by itself is lost before
    assertEquals(await textOf(host, "a", "echo", { text: "hi" }), "hi");

    const changed = new Promise((resolve) => host.on("toolsChanged", resolve));
    await textOf(host, "a", "add_tool", { name: "extra" });
    await changed;
    assertEquals(host.resolve("extra").kind, "call");
    assertEquals(await textOf(host, "a", "extra", { text: "new" }), "new");

    const began = told(host, "fixture://began");
    const aborted = told(host, "fixture://aborted");
    const abort = new AbortController();
    const { signal } = abort;
    const pending = connectionOf(host, "a").callTool("slow", {}, { signal });
    await began;
    abort.abort("enough");
    await assertRejects(() => pending);
    await aborted;
    for (const { headers } of server?.requests ?? []) {
      assertEquals([headers["x-key"], headers["x-number"]], ["s3cret", "5"]);
    }
  });
}

for (const type of TYPES) {
  Deno.test(`an MCP server over ${type} that is stopped ends its calls, and is reconnected when it runs again`, async () => {
    await using server = await startHttpFixture(type);
    await using proxy = await startProxy(server.url);
    await using host = await startHost({
      a: settings(type, `${proxy.url}/mcp`),
    }, { restart: AT_ONCE });
    await server.requested("GET", 1);
    const began = told(host, "fixture://began");
    const pending = textOf(host, "a", "slow").catch(() => "lost");
    await began;
    await server.kill();
    assertEquals(await pending, "lost");
    await reached(host, "a", "restarting");
    assertEquals(host.tools(), []);
    await using again = await startHttpFixture(type);
    proxy.turnTo(again.url);
    await reached(host, "a", "running");
    assertEquals(await textOf(host, "a", "echo", { text: "on" }), "on");
  });

  Deno.test(`a start over ${type} without an answer ends at the first of its timeouts, without secrets of the URL in the error`, async () => {
    const events: RequestListener = (req, res) => {
      const head = { "content-type": "text/event-stream" };
      // An open stream without data.
      if (req.method === "GET") res.writeHead(200, head).write(": hello\n\n");
    };
    const timeout = type === "sse" ? 0.1 : "PT0.1S";
    const rows: [RequestListener, Record<string, unknown>, number, string][] = [
      [() => {}, {}, 50, "it was not ready within 0.05 s"],
      [
        events,
        { timeout },
        Infinity,
        'cannot connect to URL: it did not answer within 0.1 s (its "timeout")',
      ],
    ];
    for (const [listener, more, startTimeoutMs, expected] of rows) {
      const http = createServer(listener);
      await new Promise<void>((resolve) =>
        http.listen(0, "127.0.0.1", resolve)
      );
      const url = `http://127.0.0.1:${
        (http.address() as AddressInfo).port
      }/mcp?key=`;
      try {
        await using host = await startHost({
          a: settings(type, `${url}s3cret`, more),
        }, { startTimeoutMs });
        const { state, error } = host.server("a")!.status;
        assertEquals([state, error], [
          "failed",
          expected.replace("URL", `${url}<redacted>`),
        ]);
      } finally {
        http.closeAllConnections();
        await new Promise((resolve) => http.close(resolve));
      }
    }
  });

  Deno.test(`an MCP server over ${type} that is not there is an error with its address, without what is secret in it`, async () => {
    const server = await startHttpFixture(type);
    await server.kill();
    const refused = () =>
      Promise.reject(
        new TypeError("fetch failed", {
          cause: new Error("connect ECONNREFUSED"),
        }),
      );
    const real = globalThis.fetch;
    for (const fetch of [real, refused]) { // as in Deno, and as in Node
      globalThis.fetch = fetch;
      try {
        await using host = await startHost({
          a: settings(type, `${server.url}?key=s3cret`),
        });
        const { state, error = "" } = host.server("a")!.status;
        assertEquals(state, "failed");
        assertEquals(
          error.startsWith(`cannot connect to ${server.url}?key=<redacted>: `),
          true,
          error,
        );
        assertMatch(error, /connect(ion)? (ECONN)?refused/i);
        assertEquals(error.includes("s3cret"), false, error);
      } finally {
        globalThis.fetch = real;
      }
    }
  });
}

Deno.test("terminate_on_close ends the session at the server, or does not", async () => {
  for (const terminate_on_close of [true, false]) {
    await using server = await startHttpFixture("streamable");
    const host = await startHost({
      a: settings("streamable", server.url, { terminate_on_close }),
    });
    await host.close();
    const methods = server.requests.map(({ method }) => method);
    assertEquals(methods.includes("DELETE"), terminate_on_close);
  }
});

Deno.test("sse_read_timeout ends a silent event stream, and the Computer reconnects; a call that is silent for longer keeps its result", async () => {
  await using server = await startHttpFixture("streamable");
  await using host = await startHost({
    a: settings("streamable", server.url, { sse_read_timeout: "PT0.05S" }),
  });
  const result = textOf(host, "a", "slow_began");
  // Meanwhile two later event streams were ended for their silence.
  const { length } = server.requests.filter(({ method }) => method === "GET");
  await server.requested("GET", length + 2);
  const abort = new AbortController();
  const { signal } = abort;
  const slow = connectionOf(host, "a").callTool("slow", {}, { signal });
  assertEquals(await result, "it began");
  abort.abort("enough");
  await assertRejects(() => slow);
});

Deno.test("a call over sse that meets a forgotten session is repeated once", async () => {
  await using server = await startHttpFixture("sse");
  await using pc = await startComputer({ a: settings("sse", server.url) });
  server.forget();
  assertEquals((await pc.call("echo", { text: "on" })).text, "on");
});
