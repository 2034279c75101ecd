import { assertEquals, assertRejects } from "@std/assert";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ServerSettings } from "../../../../computer/mod.ts";
import {
  type HttpFixture,
  startHttpFixture,
} from "../../../support/fixtures/mcp_http.ts";
import {
  connectionOf,
  hostOf,
  reached,
  textOf,
  told,
} from "../../../support/computer/host.ts";

const TYPES = ["streamable", "sse"] as const;

const settings = (
  type: typeof TYPES[number],
  { url }: Pick<HttpFixture, "url">,
  more: Record<string, unknown> = {},
): ServerSettings => ({ type, server_parameters: { url, ...more } });

for (const type of TYPES) {
  Deno.test({
    name:
      `an MCP server over ${type} is called, announces new tools, and receives an abort`,
    timeout: 120_000,
  }, async () => {
    await using server = await startHttpFixture(type);
    await using host = hostOf({ a: settings(type, server) });
    await host.start();
    await server.requested("GET", 1); // what it tells by itself is lost before
    assertEquals(await textOf(host, "a", "echo", { text: "hi" }), "hi");

    const changed = new Promise((resolve) => host.on("toolsChanged", resolve));
    await textOf(host, "a", "add_tool", { name: "extra" });
    await changed;
    assertEquals(host.resolve("extra").kind, "call");

    const began = told(host, "fixture://began");
    const aborted = told(host, "fixture://aborted");
    const abort = new AbortController();
    const pending = connectionOf(host, "a").callTool("slow", {}, {
      signal: abort.signal,
    });
    await began;
    abort.abort("enough");
    await assertRejects(() => pending);
    await aborted;
  });

  Deno.test({
    name: `headers go with every request over ${type}`,
    timeout: 120_000,
  }, async () => {
    await using server = await startHttpFixture(type);
    await using host = hostOf({
      a: settings(type, server, {
        headers: { "x-key": "s3cret", "x-number": 5 },
      }),
    });
    await host.start();
    await textOf(host, "a", "echo");
    for (const { headers } of server.requests) {
      assertEquals([headers["x-key"], headers["x-number"]], ["s3cret", "5"]);
    }
  });

  Deno.test({
    name:
      `a stopped MCP server over ${type} ends its pending calls and is restarted`,
    timeout: 120_000,
  }, async () => {
    await using server = await startHttpFixture(type);
    await using host = hostOf({ a: settings(type, server) });
    await host.start();
    await server.requested("GET", 1); // what it tells by itself is lost before
    const began = told(host, "fixture://began");
    const pending = textOf(host, "a", "slow");
    await began;
    await Promise.all([server.kill(), assertRejects(() => pending)]);
    await reached(host, "a", "restarting");
    assertEquals(host.tools(), []);
  });

  Deno.test({
    name:
      `a server over ${type} that accepts and never answers times out, without secrets of its URL in the error`,
    timeout: 120_000,
  }, async () => {
    const http = createServer(() => {});
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const { port } = http.address() as AddressInfo;
    try {
      await using host = hostOf({
        a: settings(type, { url: `http://127.0.0.1:${port}/mcp?key=s3cret` }),
      }, { startTimeoutMs: 50 });
      await host.start();
      const { state, error } = host.server("a")!.status;
      assertEquals([state, error], [
        "failed",
        "it was not ready within 0.05 s",
      ]);
    } finally {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    }
  });

  Deno.test({
    name:
      `a missing server over ${type} fails, without secrets of its URL in the error`,
    timeout: 120_000,
  }, async () => {
    await using server = await startHttpFixture(type);
    await server.kill();
    await using host = hostOf({
      a: settings(type, { url: `${server.url}?key=s3cret` }),
    });
    await host.start();
    const { state, error = "" } = host.server("a")!.status;
    assertEquals(state, "failed");
    assertEquals(error.includes("s3cret"), false);
  });
}

Deno.test({
  name: "terminate_on_close ends the session at the server, or does not",
  timeout: 120_000,
}, async () => {
  for (const terminate_on_close of [true, false]) {
    await using server = await startHttpFixture("streamable");
    {
      await using host = hostOf({
        a: settings("streamable", server, { terminate_on_close }),
      });
      await host.start();
    }
    const methods = server.requests.map(({ method }) => method);
    assertEquals(methods.includes("DELETE"), terminate_on_close);
  }
});

Deno.test({
  name:
    "sse_read_timeout ends a silent event stream, and the Computer reconnects",
  timeout: 120_000,
}, async () => {
  await using server = await startHttpFixture("streamable");
  await using host = hostOf({
    a: settings("streamable", server, { sse_read_timeout: "PT0.05S" }),
  });
  await host.start();
  await server.requested("GET", 2);
  assertEquals(await textOf(host, "a", "echo", { text: "on" }), "on");
});

Deno.test({
  name:
    "a call that is silent for longer than sse_read_timeout keeps its result",
  timeout: 120_000,
}, async () => {
  await using server = await startHttpFixture("streamable");
  await using host = hostOf({
    a: settings("streamable", server, { sse_read_timeout: "PT0.05S" }),
  });
  await host.start();
  const result = textOf(host, "a", "slow_began");
  // Meanwhile two later event streams were ended for their silence.
  const { length } = server.requests.filter(({ method }) => method === "GET");
  await server.requested("GET", length + 2);
  const abort = new AbortController();
  const slow = connectionOf(host, "a").callTool("slow", {}, {
    signal: abort.signal,
  });
  assertEquals(await result, "it began");
  abort.abort("enough");
  await assertRejects(() => slow);
});
