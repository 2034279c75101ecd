import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { SmcpComputer } from "../../../../computer/mod.ts";
import { startComputer, takeSeat } from "../../../support/computer/computer.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import { startHost, textOf } from "../../../support/computer/host.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";
import { scripted } from "../../../support/computer/scripted.ts";
import { streamableApp } from "../../../support/fixtures/mcp_http.ts";
import { captureLog } from "../../../support/log_capture.ts";
import { startOffice } from "../../../support/office.ts";
import { scratch } from "../../../support/scratch.ts";

const MIB = 2 ** 20;
/** Far above the limit of a test: a call that hangs is seen. */
const LONG = { timeoutMs: 3_600_000 };

Deno.test("a child whose line is endless is restarted, with the reason in its status", async () => {
  const maxMessageBytes = 4 * MIB;
  await using pc = await startComputer({ a: fixture() }, { maxMessageBytes });
  const errors: string[] = [];
  const back = new Promise<void>((resolve) => {
    const off = pc.computer.on("serverState", ({ state, error }) => {
      if (error !== undefined) errors.push(error);
      if (state !== "running") return;
      off();
      resolve();
    });
  });
  assertEquals((await pc.call("endless")).meta.error_code, 4003);
  await back;
  for (const part of ["more than 4194304 bytes", "--max-message"]) {
    assertStringIncludes(errors[0] ?? "", part);
  }
});

/** Lines above the limit, whose text is between these; and whose call fails: its own, all, or none. */
const LONG_LINES: Readonly<
  Record<string, [head: string, tail: string, failed: "own" | "all" | "none"]>
> = {
  "its id first": [`{"jsonrpc":"2.0","id":ID,"result":{"a":"`, `"}}`, "own"],
  "its id last": [
    `{"result":{"id":1,"a":"`,
    `"},"id":ID,"jsonrpc":"2.0"}`,
    "own",
  ],
  "an error": [`{"error":{"code":1,"message":"`, `"},"id":ID}`, "own"],
  "its id in the middle": [
    `{"a":"${"a".repeat(5_000)}","id":ID,"result":{"a":"`,
    `"},"b":"${"b".repeat(5_000)}"}`,
    "all",
  ],
  "the id of no call": [
    `{"jsonrpc":"2.0","id":12345,"result":{"a":"`,
    `"}}`,
    "none",
  ],
  "a notification": [
    `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"`,
    `"}}`,
    "none",
  ],
  "a request": [
    `{"method":"elicitation/create","params":{"message":"`,
    `"},"jsonrpc":"2.0","id":"q"}`,
    "none",
  ],
  "no message": ["a log line ", "", "none"],
};

Deno.test("a line above the limit costs its call alone, or all where its id is in neither end; its MCP server goes on", async (t) => {
  await using folder = await scratch();
  const journal = join(folder.path, "journal");
  await using pc = await startComputer({ a: scripted({ journal }) }, {
    maxMessageBytes: MIB,
  });
  using log = captureLog();
  for (const [name, [head, tail, failed]] of Object.entries(LONG_LINES)) {
    await t.step(name, async () => {
      const abort = new AbortController();
      const hanging = pc.call("hang", {}, { ...LONG, signal: abort.signal });
      const bytes = 2 * MIB;
      const answers = failed === "none";
      const { text, meta } = await pc.call(
        "long",
        { head, bytes, tail, answers },
        LONG,
      );
      if (answers) assertEquals(text, "echo");
      else {
        assertEquals(meta.error_code, 4003);
        assertStringIncludes(text, "more than 1048576 bytes");
        assertStringIncludes(text, "maxMessageBytes (--max-message)");
      }
      if (failed === "all") {
        assertStringIncludes((await hanging).text, "more than 1048576 bytes");
      } else {
        abort.abort();
        await hanging.catch(() => {});
      }
      assertEquals((await pc.call("echo")).text, "echo");
    });
  }
  assertEquals(pc.computer.status().servers[0]?.restarts, 0);
  assertStringIncludes(log.text, "notifications/message of 2");
  const [answer = ""] = (await readFile(journal, "utf8")).split("\n");
  const { id, error } = JSON.parse(answer);
  assertEquals([id, error.code], ["q", -32600]);
});

Deno.test({
  name: "a line of 300 MB passes a limit of 8 MB in bounded memory",
  ignore: Deno.build.os !== "linux",
}, async () => {
  await using config = await configFile({
    servers: { a: scripted({}, { default_tool_meta: { auto_apply: true } }) },
  });
  await using office = await startOffice();
  const flags = ["--max-message", `${8 * MIB}`];
  await using computer = runComputer(office, config.file, { flags });
  await computer.line(/^MCP server a: running/);
  await computer.line(/^joined/);
  await office.agent.toolsSettled();
  await office.agent.callTool("pc", "echo", {});
  const peak = async () => {
    const status = await Deno.readTextFile(`/proc/${computer.pid}/status`);
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
  };
  const before = await peak();
  const [head, tail] = LONG_LINES["its id first"] ?? [];
  const params = { head, bytes: 300 * MIB, tail };
  const { content: [block] } = await office.agent
    .callTool("pc", "long", params, LONG);
  assertStringIncludes(block?.text ?? "", "more than 8388608 bytes");
  const growth = await peak() - before;
  assert(growth < 64, `${growth} MiB`);
});

Deno.test("an answer of a child with too many values fails its call alone: the child goes on, and others too", async () => {
  const maxMessageBytes = 4 * MIB;
  await using pc = await startComputer({ a: fixture() }, { maxMessageBytes });
  const states: string[] = [];
  pc.computer.on("serverState", ({ state }) => states.push(state));
  const [many, echo] = await Promise.all([
    pc.call("lists", { count: 1_100_000 }),
    pc.call("echo", { text: "hi" }),
  ]);
  assertEquals(many.meta.error_code, 4003);
  assertStringIncludes(many.text, "more than 1000000 values");
  assertEquals(echo.text, "hi");
  assertEquals(states, []);
  // Brackets within a string are not lists.
  const { result } = await pc.call("echo", { text: '\\"['.repeat(200_000) });
  assertEquals(result.isError ?? false, false);
  const bytes = maxMessageBytes - 1000;
  assertEquals((await pc.call("big", { bytes })).text.length, bytes);
});

Deno.test({
  name:
    "a command that hosts a child of endless lines keeps its memory bounded, and its other servers answer",
  ignore: Deno.build.os !== "linux",
}, async () => {
  await using config = await configFile({
    servers: {
      endless: {
        type: "stdio",
        server_parameters: { command: "cat", args: ["/dev/zero"] },
      },
      good: fixture({ only: ["echo"] }, {
        default_tool_meta: { auto_apply: true },
      }),
    },
  });
  await using office = await startOffice();
  await using computer = runComputer(office, config.file);
  await computer.line(/^joined/);
  await office.agent.toolsSettled();
  await Promise.all([
    computer.line(/^MCP server endless: failed/),
    computer.line(/^MCP server good: running/),
  ]);
  const { content } = await office.agent.callTool("pc", "echo", { text: "hi" });
  assertEquals(content[0]?.text, "hi");
  const status = await Deno.readTextFile(`/proc/${computer.pid}/status`);
  const [, peak] = /VmHWM:\s+(\d+) kB/.exec(status) ?? [];
  assert(Number(peak) < 700_000, `${peak} kB`);
  await computer.stop();
});

Deno.test("data that a child does not read is not buffered without limit", async () => {
  await using pc = await startComputer({ a: fixture() }, {
    maxMessageBytes: 150_000,
  });
  const deaf = pc.call("deaf", {}, { timeoutMs: 60_000 });
  let said = "";
  // The first ones wait in the pipe until their timeout; the others are refused at once.
  while (!said.includes("could not be reached")) {
    const text = "x".repeat(100_000);
    said = (await pc.call("echo", { text }, { timeoutMs: 1_000 })).text;
  }
  await pc.computer.stopServer("a");
  assertEquals((await deaf).meta.error_code, 4003);
});

Deno.test("a child that floods its output does not delay other calls", async () => {
  await using pc = await startComputer({
    a: fixture({ only: ["flood"] }),
    b: fixture({ only: ["echo"] }),
  });
  const flood = pc.call("flood", {}, { timeoutMs: 600_000 });
  flood.catch(() => {}); // a failure shows in the assertions below
  // If they were delayed by the child, which never ends, they would time out.
  for (let i = 0; i < 20; i++) {
    assertEquals((await pc.call("echo", { text: "hi" })).text, "hi");
  }
  await pc.computer.stopServer("a");
  assertEquals((await flood).meta.error_code, 4003);
});

Deno.test("invalid lines of a child have no effect", async () => {
  await using host = await startHost({ a: fixture() });
  assertEquals(await textOf(host, "a", "odd_lines", { text: "on" }), "on");
  assertEquals(await textOf(host, "a", "no_result"), "not a list");
  assertEquals(await textOf(host, "a", "echo", { text: "still" }), "still");
});

Deno.test("a Computer refuses an invalid message limit", () => {
  for (const maxMessageBytes of [0, -1, 1.5, NaN, 2 ** 30]) {
    const options = {
      url: "http://127.0.0.1",
      name: "pc",
      servers: {},
      maxMessageBytes,
    };
    assertThrows(() => new SmcpComputer(options), TypeError, "maxMessageBytes");
  }
});

Deno.test("a call whose result is too large to keep is not run a second time", async () => {
  await using pc = await startComputer({ a: fixture({ only: ["big"] }) }, {}, {
    server: { maxMessageBytes: 64 * MIB },
  });
  const wire = await takeSeat(pc.office);
  const call = { tool_name: "big", params: { bytes: 17 * MIB } };
  const first = await wire.call(call);
  assertEquals(first.content[0]?.text?.length, call.params.bytes);
  const second = await wire.call(call);
  assertEquals(second.isError, true);
  assertStringIncludes(second.content[0]?.text ?? "", "too large to keep");
});

/** Answers a tool call, or the GET that resumes its answer, at the HTTP level. */
type OddAnswer = (response: ServerResponse, id: number) => void;

/**
 * Starts an MCP server over Streamable HTTP.
 *
 * @param tools by name; `resume` answers a GET with the id of an event
 */
async function startOddHttp(tools: Record<string, OddAnswer>) {
  const sessions = new Map();
  const requests: { tool?: string; lastEventId?: unknown }[] = [];
  let lastCall = 0;
  let lateMs: number[] = [];
  const inputSchema = { type: "object" };
  const app = streamableApp({
    only: [],
    extraTools: Object.keys(tools).map((name) => ({ name, inputSchema })),
  }, sessions);
  const answer = async (req: IncomingMessage, res: ServerResponse) => {
    let text = "";
    for await (const chunk of req) text += chunk;
    const body = text === "" ? undefined : JSON.parse(text);
    const tool = body?.method === "tools/call" ? body.params.name : undefined;
    const { "last-event-id": lastEventId, "mcp-session-id": session } =
      req.headers;
    requests.push({ tool, lastEventId });
    if (!sessions.has(session)) {
      if (session) await new Promise((r) => setTimeout(r, lateMs.shift() ?? 0));
    } else if (lastEventId !== undefined) {
      return tools.resume?.(res, lastCall);
    } else if (tool !== undefined) {
      return tools[tool]?.(res, lastCall = body.id);
    }
    await app(Object.assign(req, { body }), res);
  };
  // A client may disconnect during its request.
  const http = createServer((req, res) =>
    void answer(req, res).catch(() => res.destroy())
  );
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    settings: {
      type: "streamable" as const,
      server_parameters: { url: `http://127.0.0.1:${port}/mcp` },
    },
    requests,
    /** Forgets its sessions; the next requests are refused after these milliseconds, in their order. */
    forget: (...afterMs: number[]) => {
      sessions.clear();
      lateMs = afterMs;
    },
    [Symbol.asyncDispose]: () => {
      http.closeAllConnections();
      return new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}

/** Writes the head of a stream of events. */
const stream = (response: ServerResponse) =>
  response.writeHead(200, { "content-type": "text/event-stream" });

/** An event with a JSON-RPC message. */
const event = (message: object) =>
  `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;

const textResult = (text: string) => ({ content: [{ type: "text", text }] });

const good: OddAnswer = (res, id) =>
  stream(res).end(event({ id, result: textResult("good") }));
const body: (result: object) => OddAnswer = (message) => (res, id) =>
  res.writeHead(200, { "content-type": "application/json" })
    .end(JSON.stringify({ jsonrpc: "2.0", id, ...message }));
const progress = (id: number) =>
  event({
    method: "notifications/progress",
    params: { progressToken: id, progress: 1 },
  });
const primed: OddAnswer = (res) => stream(res).end("id: e1\ndata: \n\n");
const broken = (text: (id: number) => string): OddAnswer => (res, id) => {
  stream(res).flushHeaders();
  res.write(text(id));
  setTimeout(() => res.destroy(), 20);
};
const large = textResult("x".repeat(9 * MIB));
const lists = Array.from({ length: 1_500_000 }, () => []);

const LOST = "was lost meanwhile";
const LARGE = "more than 8388608 bytes";

/** Answers over HTTP, the text of the result, and the answer to a GET that resumes it. */
const ODD: Readonly<
  Record<string, [OddAnswer, text: string, resume?: OddAnswer]>
> = {
  "broken before its first event": [broken(() => ""), LOST],
  "broken after an event": [broken(progress), LOST],
  "broken within an event": [broken(() => 'data: {"jsonrpc":"2.0","re'), LOST],
  "ended without the answer": [
    (res, id) => stream(res).end(progress(id)),
    LOST,
  ],
  "ended within an event": [(res) => stream(res).end("data: {"), LOST],
  "the answer to something else": [
    body({ id: 12345, result: {} }),
    "does not answer the request",
  ],
  "no message at all": [
    (res) => stream(res).end("data: [1,2]\n\ndata: null\n\n"),
    LOST,
  ],
  // Deno takes such an end for an old one, of a connection that nobody used.
  "the end of a connection that was used before": [
    (res) => void res.socket?.end(),
    'MCP server "a"',
  ],
  "resumed where it broke off": [
    primed,
    "resumed",
    (res, id) => stream(res).end(event({ id, result: textResult("resumed") })),
  ],
  ...Object.fromEntries(
    [404, 405, 503].map((status) =>
      [`not resumed: ${status}`, [
        primed,
        LOST,
        (res) => res.writeHead(status).end(),
      ]] as [
        string,
        [OddAnswer, string, OddAnswer],
      ]
    ),
  ),
  "too large an event": [
    (res, id) => stream(res).end(event({ id, result: large })),
    LARGE,
  ],
  "an event without end": [(res) => {
    const piece = `data: ${"x".repeat(2 ** 16)}\n`;
    const write = () => {
      while (!res.destroyed && res.write(piece));
    };
    stream(res).on("drain", write);
    write();
  }, LARGE],
  "too large a body": [body({ result: large }), LARGE],
  "an event with too many lists": [(res, id) => {
    stream(res).write(event({ id: 98, result: {} }));
    res.end(
      event({ id, result: { content: [], structuredContent: { a: lists } } }),
    );
  }, "more than 1000000 values"],
  "many small events, and lists, of a larger total": [(res, id) => {
    const params = { level: "info", data: "x".repeat(10_000) };
    const note = event({ method: "notifications/message", params });
    stream(res);
    const half = { level: "info", data: lists.slice(0, 450_000) };
    for (let i = 0; i < 2; i++) {
      res.write(event({ method: "notifications/message", params: half }));
    }
    for (let i = 0; i < 900; i++) res.write(note);
    res.end(event({ id, result: textResult("done") }));
  }, "done"],
};

Deno.test("an HTTP answer that breaks off or is too large fails its call at once with 4003 and the reason, or is resumed; each is sent once", async (t) => {
  let resume: OddAnswer | undefined;
  const names = Object.keys(ODD);
  await using server = await startOddHttp({
    good,
    ...Object.fromEntries(names.map((name, i) => [`t${i}`, ODD[name]![0]])),
    resume: (...request) => resume?.(...request),
  });
  await using pc = await startComputer({
    a: server.settings,
  }, { maxMessageBytes: 8 * MIB });
  for (const [i, name] of names.entries()) {
    await t.step(name, async () => {
      const [, expected, answer] = ODD[name]!;
      resume = answer;
      const { text, meta } = await pc.call(`t${i}`, {}, LONG);
      assertStringIncludes(text, expected);
      const isGood = ["resumed", "done"].includes(expected);
      assertEquals(meta.error_code, isGood ? undefined : 4003);
      assertEquals((await pc.call("good")).text, "good", "the next call");
      assertEquals(
        server.requests.filter(({ tool }) => tool === `t${i}`).length,
        1,
      );
    });
  }
  assertEquals(pc.computer.status().servers[0]?.restarts, 0);
  assert(
    server.requests.some(({ lastEventId }) => lastEventId === "e1"),
  );
});

Deno.test("a call that meets an MCP server that forgot its session is repeated once, and runs once", async () => {
  let runs = 0;
  await using server = await startOddHttp({
    count: (res, id) =>
      stream(res).end(event({ id, result: textResult(`${++runs}`) })),
    never: (res) => res.writeHead(404).end("no session"),
  });
  await using pc = await startComputer({
    a: server.settings,
  });
  const text = async () => (await pc.call("count")).text;
  assertEquals(await text(), "1");
  server.forget(0, 300); // the second is refused when the first is being repeated
  assertEquals((await Promise.all([text(), text()])).sort(), ["2", "3"]);
  assertEquals(runs, 3);
  const [status] = pc.computer.status().servers;
  assertEquals([status?.state, status?.restarts], ["running", 1]);
  // What is answered with 404 while the session exists is about that call.
  const { text: words, meta } = await pc.call("never");
  assertStringIncludes(words, "answered HTTP 404: no session");
  assertEquals(meta.error_code, 4003);
  assertEquals(
    server.requests.filter(({ tool }) => tool === "never").length,
    1,
  );
  assertEquals(pc.computer.status().servers[0]?.restarts, 1);
});
