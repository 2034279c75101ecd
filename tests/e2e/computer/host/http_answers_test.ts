import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ServerSettings } from "../../../../computer/mod.ts";
import { resultMeta } from "../../../../protocol/mod.ts";
import { startComputer } from "../../../support/computer/computer.ts";
import { startHttpFixture } from "../../../support/fixtures/mcp_http.ts";
import {
  event,
  type OddAnswer,
  type OddRequest,
  startOddHttp,
  stream,
  textResult,
} from "../../../support/fixtures/odd_http.ts";
import { hostOf } from "../../../support/computer/host.ts";

const MIB = 2 ** 20;

const streamable = (url: string, more = {}): ServerSettings => ({
  type: "streamable",
  server_parameters: { url, ...more },
});

const good: OddAnswer = (res, id) =>
  stream(res).end(event({ id, result: textResult("good") }));
const progress = (id: number) =>
  event({
    method: "notifications/progress",
    params: { progressToken: id, progress: 1 },
  });
const primed: OddAnswer = (res) => stream(res).end("id: e1\ndata: \n\n");

/** Calls a tool of a misbehaving MCP server; its timeout is far above that of the test. */
async function callOdd(
  tools: Record<string, OddAnswer>,
  name: string,
): Promise<{ text: string; code: unknown; requests: readonly OddRequest[] }> {
  await using server = await startOddHttp({ good, ...tools });
  await using pc = await startComputer({ a: streamable(server.url) }, {
    maxMessageBytes: MIB,
  });
  const { agent } = pc.office;
  const result = await agent.callTool("pc", name, {}, { timeoutMs: 3_600_000 });
  const { content } = await agent.callTool("pc", "good", {});
  assertEquals(content[0]?.text, "good", "the next call");
  assertEquals(pc.computer.status().servers[0]?.restarts, 0);
  return {
    text: result.content[0]?.text ?? "",
    code: resultMeta(result).error_code,
    requests: server.requests,
  };
}

const CUTS: Readonly<Record<string, OddAnswer>> = {
  "broken before its first event": (res) => {
    stream(res).flushHeaders();
    setTimeout(() => res.destroy(), 20);
  },
  "broken after an event": (res, id) => {
    stream(res).write(progress(id));
    setTimeout(() => res.destroy(), 20);
  },
  "broken within an event": (res) => {
    stream(res).write('data: {"jsonrpc":"2.0","re');
    setTimeout(() => res.destroy(), 20);
  },
  "ended without the answer": (res, id) => stream(res).end(progress(id)),
  "ended within an event": (res) => stream(res).end("data: {"),
  "the answer to something else": (res) =>
    res.writeHead(200, { "content-type": "application/json" })
      .end('{"jsonrpc":"2.0","id":12345,"result":{}}'),
  "no message at all": (res) =>
    stream(res).end("data: [1,2]\n\ndata: null\n\n"),
};

for (const [how, cut] of Object.entries(CUTS)) {
  Deno.test({
    name: `an HTTP answer that is ${how} fails its call at once: 4003`,
    timeout: 60_000,
  }, async () => {
    const { text, code } = await callOdd({ cut }, "cut");
    assertEquals(code, 4003, text);
    assertStringIncludes(text, "was lost meanwhile");
  });
}

Deno.test({
  name: "an HTTP answer whose events have ids is resumed where it broke off",
  timeout: 60_000,
}, async () => {
  const { text, requests } = await callOdd({
    primed,
    resume: (res, id) =>
      stream(res).end(event({ id, result: textResult("resumed") })),
  }, "primed");
  assertEquals(text, "resumed");
  assert(
    requests.some((request) =>
      JSON.stringify(request) === '{"method":"GET","lastEventId":"e1"}'
    ),
  );
});

for (const status of [404, 405, 503]) {
  Deno.test({
    name: `an HTTP answer that cannot be resumed fails its call: ${status}`,
    timeout: 60_000,
  }, async () => {
    const { code } = await callOdd({
      primed,
      resume: (res) => res.writeHead(status).end(),
    }, "primed");
    assertEquals(code, 4003);
  });
}

const LARGE: Readonly<Record<string, OddAnswer>> = {
  "an event": (res, id) =>
    stream(res).end(event({ id, result: textResult("x".repeat(2 * MIB)) })),
  "an event without end": (res) => {
    stream(res);
    const piece = `data: ${"x".repeat(2 ** 16)}\n`;
    const write = () => {
      while (!res.destroyed && res.write(piece));
    };
    res.on("drain", write);
    write();
  },
  "a body": (res, id) =>
    res.writeHead(200, { "content-type": "application/json" }).end(
      JSON.stringify({
        jsonrpc: "2.0",
        id,
        result: textResult("x".repeat(2 * MIB)),
      }),
    ),
};

for (const [what, large] of Object.entries(LARGE)) {
  Deno.test({
    name: `${what} of more than maxMessageBytes fails its call with the reason`,
    timeout: 60_000,
  }, async () => {
    const { text, code } = await callOdd({ large }, "large");
    assertEquals(code, 4003, text);
    assertStringIncludes(text, "more than 1048576 bytes");
  });
}

Deno.test({
  name: "an event with too many lists fails its call with the reason",
  timeout: 60_000,
}, async () => {
  await using server = await startOddHttp({
    good,
    lists: (res, id) => {
      const a = Array.from({ length: 1_500_000 }, () => []);
      stream(res).write(event({ id: 98, result: {} }));
      res.end(event({ id, result: { content: [], structuredContent: { a } } }));
    },
  });
  await using pc = await startComputer({ a: streamable(server.url) });
  const { agent } = pc.office;
  const { content: [text] } = await agent.callTool("pc", "lists", {});
  assertStringIncludes(text?.text ?? "", "more than 1000000 lists and objects");
  const { content } = await agent.callTool("pc", "good", {});
  assertEquals(content[0]?.text, "good");
});

Deno.test({
  name: "many small events pass, whatever their total size",
  timeout: 60_000,
}, async () => {
  const { text } = await callOdd({
    many: (res, id) => {
      stream(res);
      const note = event({
        method: "notifications/message",
        params: { level: "info", data: "x".repeat(10_000) },
      });
      for (let i = 0; i < 300; i++) res.write(note);
      res.end(event({ id, result: textResult("done") }));
    },
  }, "many");
  assertEquals(text, "done");
});

Deno.test({
  name:
    "a call that meets an MCP server that forgot its session is repeated once, and runs once",
  timeout: 60_000,
}, async () => {
  let runs = 0;
  await using server = await startOddHttp({
    count: (res, id) =>
      stream(res).end(event({ id, result: textResult(`${++runs}`) })),
  });
  await using pc = await startComputer({ a: streamable(server.url) });
  const { agent } = pc.office;
  const text = async () =>
    (await agent.callTool("pc", "count", {})).content[0]?.text;
  assertEquals(await text(), "1");
  server.forget(0, 300); // the second hears of it when the first is being repeated
  assertEquals((await Promise.all([text(), text()])).sort(), ["2", "3"]);
  assertEquals(runs, 3);
  const [status] = pc.computer.status().servers;
  assertEquals([status?.state, status?.restarts], ["running", 1]);
});

Deno.test({
  name:
    "a call is sent once, though its connection was used before and ends without an answer",
  timeout: 60_000,
}, async () => {
  // Deno takes such an end for an old one, of a connection that nobody used.
  const ends: OddAnswer = (res) => void res.socket?.end();
  const { code, requests } = await callOdd({ ends }, "ends");
  assertEquals(code, 4003);
  const calls = requests.filter((request) => request.rpc === "tools/call");
  assertEquals(calls.length, 2, "one of them is the next call");
});

Deno.test({
  name: "a call over sse that meets a forgotten session is repeated once",
  timeout: 60_000,
}, async () => {
  await using server = await startHttpFixture("sse");
  await using pc = await startComputer({
    a: { type: "sse", server_parameters: { url: server.url } },
  });
  server.forget();
  const { content } = await pc.office.agent.callTool("pc", "echo", {
    text: "on",
  });
  assertEquals(content[0]?.text, "on");
});

Deno.test({
  name: "a session that is forgotten repeatedly fails its call",
  timeout: 60_000,
}, async () => {
  await using server = await startOddHttp({
    never: (res) => res.writeHead(404).end("no session"),
  });
  await using pc = await startComputer({ a: streamable(server.url) });
  const result = await pc.office.agent.callTool("pc", "never", {});
  assertEquals(resultMeta(result).error_code, 4003);
  const calls = server.requests.filter(({ rpc }) => rpc === "tools/call");
  assertEquals(calls.length, 2);
});

for (const type of ["streamable", "sse"] as const) {
  Deno.test({
    name: `timeout bounds the start of an MCP server over ${type}`,
    timeout: 60_000,
  }, async () => {
    const http = createServer((req, res) => {
      // An open stream without data.
      if (req.method === "GET") stream(res).write(": hello\n\n");
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const { port } = http.address() as AddressInfo;
    try {
      const url = `http://127.0.0.1:${port}/mcp`;
      await using host = hostOf({
        a: type === "sse"
          ? { type, server_parameters: { url, timeout: 0.1 } }
          : streamable(url, { timeout: "PT0.1S" }),
      }, { startTimeoutMs: Infinity });
      await host.start();
      const { state, error } = host.server("a")!.status;
      assertEquals([state, error], [
        "failed",
        `cannot connect to ${url}: it did not answer within 0.1 s (its "timeout")`,
      ]);
    } finally {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    }
  });
}

for (const type of ["streamable", "sse"] as const) {
  Deno.test(`an MCP server over ${type} that is not there is an error with its address, without what is secret in it`, async () => {
    const closed = createServer();
    await new Promise<void>((resolve) =>
      closed.listen(0, "127.0.0.1", resolve)
    );
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const url = `http://127.0.0.1:${port}/mcp?key=s3cret`;
    const shown = `http://127.0.0.1:${port}/mcp?key=<redacted>`;
    for (const from of ["Deno", "Node"]) {
      const real = globalThis.fetch;
      if (from === "Node") {
        globalThis.fetch = () =>
          Promise.reject(
            new TypeError("fetch failed", {
              cause: new Error(`connect ECONNREFUSED 127.0.0.1:${port}`),
            }),
          );
      }
      try {
        await using host = hostOf({
          a: type === "sse"
            ? { type, server_parameters: { url } }
            : streamable(url),
        });
        await host.start();
        const { error = "" } = host.server("a")!.status;
        assertStringIncludes(error, `cannot connect to ${shown}: `);
        assertMatch(error, /connect(ion)? (ECONN)?refused/i);
        assertEquals(error.includes("s3cret"), false, error);
      } finally {
        globalThis.fetch = real;
      }
    }
  });
}
