import { assertEquals, assertNotMatch } from "@std/assert";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { createSmcpServer } from "../../../../server/mod.ts";
import { start } from "../../../support/child.ts";
import { startBystanders } from "../../../support/server/bystanders.ts";
import { joinRaw } from "../../../support/wire/raw_client.ts";
import {
  type RawAnswer,
  rawHttp,
  upgradeHead,
} from "../../../support/wire/raw_http.ts";
import { startServerCommand } from "../../../support/server/server_command.ts";

const ignore = Deno.build.os === "windows";
const QUERY = "/smcp/?EIO=4&a2c_version=0.2.0&transport=websocket";

/** TCP connections that send nothing or one request, and stay open; with their answers. */
class Crowd implements AsyncDisposable {
  readonly #answers = new Map<Socket, string>();
  #changed = () => {};

  /** Resolves when one of them has got such an answer. */
  async answered(pattern: RegExp): Promise<void> {
    while (![...this.#answers.values()].some((text) => pattern.test(text))) {
      await new Promise<void>((resolve) => this.#changed = resolve);
    }
  }

  /** Opens a number of them; resolves when each is connected, or refused by the system. */
  async open(port: number, count: number, text = ""): Promise<void> {
    const settled = Array.from({ length: count }, () => {
      const socket = connect(port, "127.0.0.1");
      this.#answers.set(socket, "");
      socket.on("data", (data) => {
        this.#answers.set(socket, this.#answers.get(socket) + String(data));
        this.#changed();
      });
      if (text) socket.write(text);
      const { promise, resolve } = Promise.withResolvers<void>();
      socket.on("error", () => resolve());
      socket.on("connect", resolve);
      return promise;
    });
    await Promise.all(settled);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const open = [...this.#answers.keys()].filter((socket) => !socket.closed);
    const closed = open.map((socket) => once(socket, "close"));
    for (const socket of open) socket.destroy();
    await Promise.all(closed);
  }
}

const health = (port: number): Promise<RawAnswer> =>
  rawHttp(port, ["GET /health HTTP/1.1", "Host: localhost"]);

Deno.test({
  name:
    "a flood of connections with 256 descriptors stops neither bystanders nor later clients",
  ignore,
  timeout: 120_000,
}, async () => {
  await using server = await startServerCommand(["--port=0"], {}, [], 256);
  const port = Number(new URL(server.url).port);
  await using bystanders = await startBystanders(server.url, {}, server.pid);
  const upgrade = [...upgradeHead(QUERY), "", ""].join("\r\n");
  for (const [first, second] of [["", upgrade], [upgrade, ""]]) {
    await using crowd = new Crowd();
    await crowd.open(port, 300, first);
    await crowd.open(port, 150, second);
    await bystanders.check();
    await crowd.open(port, 100);
    await bystanders.check();
    await crowd.answered(/^HTTP\/1\.1 503 .*\r\n[^]*Retry-After: 5\r\n/);
  }
  while ((await health(port).catch(() => undefined))?.status !== 200);
  await using _agent = await joinRaw(server.url, "agent", "late", "o");
  await bystanders.check();
  await server.logged('"limit":"sockets"');
  assertNotMatch(server.log, /The listener/); // it never had to be restarted
});

Deno.test("an address has a maximum of TCP connections, with or without a session; others are answered with 429", async () => {
  await using server = createSmcpServer({ limits: { socketsPerAddress: 3 } });
  const { port } = await server.listen();
  {
    await using crowd = new Crowd();
    await crowd.open(port, 3);
    const { status, headers, body } = await health(port);
    assertEquals([status, headers["retry-after"]], [429, "5"]);
    assertEquals(JSON.parse(body), {
      code: 429,
      message: "Too many TCP connections: at most 3 from one address",
      limit: "sockets_per_address",
      max: 3,
    });
  }
  while ((await health(port)).status !== 200);
});

Deno.test("connections through a trusted proxy are not counted by address, only in total", async () => {
  await using server = createSmcpServer({
    limits: { socketsPerAddress: 1, sockets: 3 },
    trustedProxies: 1,
  });
  const { port } = await server.listen();
  await using crowd = new Crowd();
  await crowd.open(port, 2);
  await crowd.open(port, 1, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await crowd.answered(/^HTTP\/1\.1 200 /); // and stays open
  const answer = await health(port);
  assertEquals([answer.status, JSON.parse(answer.body)], [503, {
    code: 500,
    message: "The server cannot accept another connection: try again later",
  }]);
});

Deno.test("a connection without a request is closed after the header timeout", async () => {
  await using server = createSmcpServer({ headerTimeoutMs: 200 });
  const { port } = await server.listen();
  const silent = connect(port, "127.0.0.1");
  silent.resume();
  await once(silent, "close");
});

Deno.test({
  name:
    "a Server that could not accept because its process had no descriptors left accepts again when it has some",
  ignore,
  timeout: 120_000,
}, async () => {
  const script = new URL(
    "../../../support/fixtures/exhausted_server.ts",
    import.meta.url,
  );
  const run = `ulimit -n 256 && exec "$0" run -A --quiet --frozen "$1"`;
  const args = ["-c", run, Deno.execPath(), fileURLToPath(script)];
  await using server = start("sh", args);
  const [url] = await server.line(/^http.*/);
  const port = Number(new URL(url).port);
  assertEquals((await health(port)).status, 200);
  server.signal("SIGHUP");
  await server.line(/^taken$/);
  await using crowd = new Crowd();
  await crowd.open(port, 3); // connected by the system, but not accepted
  server.signal("SIGHUP");
  await server.line(/^given back$/);
  let answer: RawAnswer | undefined;
  while (answer?.status !== 200) {
    answer = await health(port).catch(() => undefined);
  }
});
