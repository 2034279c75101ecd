import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { statusBlock } from "../../../../computer/cli/live_view.ts";
import { LiveBlock, TurnView } from "../../../../computer/cli/screen.ts";
import { drawTable } from "../../../../computer/cli/shell/command.ts";
import { Prompt } from "../../../../computer/cli/shell/prompt.ts";
import { keptLine } from "../../../../computer/cli/shell/run_line.ts";
import { CallLog, clip } from "../../../../computer/cli/ui/call_log.ts";
import {
  ChangeFeed,
  Changes,
} from "../../../../computer/cli/ui/change_feed.ts";
import {
  PageQuestions,
  type Question,
} from "../../../../computer/cli/ui/page_questions.ts";
import type {
  ServerState,
  ServerStatus,
} from "../../../../computer/host/server_status.ts";
import type { ToolProgress } from "../../../../protocol/mod.ts";
import { ProblemError } from "../../../../shared/http.ts";
import { TestClock } from "../../../support/clock.ts";

Deno.test("keptLine() keeps commands without parameters, values and definitions, and nothing else", () => {
  const rows: [line: string, kept: string | undefined][] = [
    ["status ", "status "],
    ["exit", "exit"],
    ["quit", "quit"],
    ["server rm files", "server rm files"],
    ["inputs value get token", "inputs value get token"],
    [
      'tc {"tool_name": "login", "params": {"password": "s3cret"}}',
      'tc {"tool_name":"login"}',
    ],
    ['tc {"tool_name": "login", "params": {"password": "s3cret"', "tc"],
    ["tc @call.json", "tc @call.json"],
    ["inputs value set token s3cret", "inputs value set token"],
    ["inputs  value\tset token  s3cret", "inputs value set token"],
    ["inputs value set token @s3cret", "inputs value set token"],
    ['inputs add {"default": "s3cret"}', "inputs add"],
    ['inputs update {"default": "s3cret"}', "inputs update"],
    ["inputs add @input.json", "inputs add @input.json"],
    ['server add {"env": {"TOKEN": "s3cret"}}', "server add"],
    ['render {"a": "s3cret"}', "render"],
    [
      "socket connect https://me:s3cret@host/",
      "socket connect https://<redacted>:<redacted>@host/",
    ],
    ["socket connect https://host/", "socket connect https://host/"],
    ["inputs valu set token s3cret", undefined],
    ["s3cret", undefined],
    ["", undefined],
  ];
  for (const [line, kept] of rows) assertEquals(keptLine(line), kept, line);
});

Deno.test("TurnView prints the notes of a turn at once, before a question, and at its end", async () => {
  const printed: string[] = [];
  const view = new TurnView((text) => printed.push(text));
  view.note("one");
  view.note("two");
  assertEquals(printed, []);
  await new Promise((resolve) => setImmediate(resolve));
  assertEquals(printed, ["one\ntwo"]);
  view.note("three");
  await view.asking(async () => await assertEquals(printed.at(-1), "three"));
  view.note("four");
  view.close();
  view.note("five"); // the process may end in this turn
  assertEquals(printed, ["one\ntwo", "three", "four", "five"]);
});

const HEAD = ["Name", "What"];
const ROWS = [
  ["a", "words of 漢字 and 🎉"],
  ["two\nlines", ["fine", "good"]],
] as const;

Deno.test("drawTable() frames cells of several lines, and counts wide characters twice", () => {
  assertEquals(
    drawTable({ head: HEAD, rows: ROWS }, { columns: 80, colour: false }).split(
      "\n",
    ),
    [
      "┌───────┬──────────────────────┐",
      "│ Name  │ What                 │",
      "├───────┼──────────────────────┤",
      "│ a     │ words of 漢字 and 🎉 │",
      "│ two   │ fine                 │",
      "│ lines │                      │",
      "└───────┴──────────────────────┘",
    ],
  );
});

Deno.test("drawTable() wraps its widest columns, and a style does not widen one", () => {
  assertEquals(
    drawTable({ head: HEAD, rows: ROWS }, { columns: 25, colour: true }).split(
      "\n",
    ),
    [
      "┌───────┬───────────────┐",
      "│ \x1b[1mName\x1b[0m  │ \x1b[1mWhat\x1b[0m          │",
      "├───────┼───────────────┤",
      "│ a     │ words of 漢字 │",
      "│       │   and 🎉      │",
      "│ two   │ \x1b[32mfine\x1b[0m          │",
      "│ lines │               │",
      "└───────┴───────────────┘",
    ],
  );
  assertEquals(
    drawTable({ head: HEAD, rows: [] }, { columns: 80, colour: false }).split(
      "\n",
    ),
    ["┌──────┬──────┐", "│ Name │ What │", "└──────┴──────┘"],
  );
});

const newPrompt = () => {
  const input = new PassThrough({ encoding: "utf8" });
  const output = new PassThrough({ encoding: "utf8" });
  const prompt = new Prompt({
    input,
    output,
    prompt: "smcp> ",
    completer: (line: string) => [[], line],
    history: [],
  });
  return { input, output, prompt };
};

Deno.test("a prompt prints nothing into a question, but afterwards", async () => {
  const { output, prompt } = newPrompt();
  const question = Promise.withResolvers<void>();
  const line = prompt.readLine();
  output.read();
  const pause = prompt.pauseFor(() => question.promise);
  output.read();
  prompt.print("call of echo: ok");
  assertEquals(output.read(), null);
  question.resolve();
  await pause;
  assertMatch(output.read(), /^call of echo: ok\n[^]*smcp> /);
  prompt.close();
  assertEquals(await line, undefined);
});

Deno.test("a prompt prints what it held when it is closed within a question", () => {
  const { output, prompt } = newPrompt();
  void prompt.pauseFor(() => new Promise<void>(() => {}));
  prompt.print("error: no office");
  prompt.close();
  assertEquals(output.read(), "error: no office\n");
});

Deno.test("lines pasted behind one are back in the input before a question of the same turn", async () => {
  const { input, prompt } = newPrompt();
  const line = prompt.readLine();
  const asked = Promise.withResolvers<string | null>();
  input.once(
    "keypress",
    () =>
      queueMicrotask(() =>
        prompt.pauseFor(() => Promise.resolve(asked.resolve(input.read())))
      ),
  );
  input.write("start all\ry\r");
  assertEquals(await line, "start all");
  assertEquals(await asked.promise, "y\r");
  prompt.close();
});

const server = (
  name: string,
  state: ServerState,
  bundleId = name,
): ServerStatus => ({
  name,
  bundleId,
  type: "stdio",
  state,
  tools: 1,
  restarts: 0,
  problems: [],
  ...(state === "failed" && { error: `${name} is not there` }),
});

type Shown = Parameters<typeof statusBlock>[0];

/** The lines of a block for a Computer with these parts. */
const linesOf = (
  status: Partial<Shown["status"]>,
  { calls = [], permissions = [], rows = 24 }: Partial<
    Pick<Shown, "calls" | "permissions" | "rows">
  > = {},
): string[] =>
  statusBlock({
    status: {
      name: "pc",
      connection: "connected",
      protocol: "0.4",
      servers: [],
      tools: [],
      skills: [],
      problems: [],
      runningCalls: calls.length,
      ...status,
    },
    url: "http://h",
    calls,
    permissions,
    now: 5_000,
    columns: 80,
    rows,
    colour: false,
  });

Deno.test("statusBlock() shows failed MCP servers first, the others in order, and a bundle_id that differs from the name", () => {
  const servers = [
    server("a", "running"),
    server("b", "failed"),
    server("c", "starting"),
    server("d", "failed"),
    server("e", "disabled"),
  ];
  const shown = (rows: number) =>
    linesOf({ servers }, { rows })
      .flatMap((text) => /^ {2}[●◌✗○] (\w+)/.exec(text)?.[1] ?? []);
  assertEquals(shown(24), ["b", "d", "a", "c", "e"]);
  assertEquals(shown(5), ["b", "d"]); // only servers that have not failed are cut off
  const named = [
    server("my files", "running", "my_files"),
    server("web", "running"),
  ];
  assertEquals(linesOf({ servers: named }).slice(2), [
    "  ● my files (my_files)  running   1 tool",
    "  ● web                  running   1 tool",
  ]);
});

Deno.test("statusBlock() shows the number of permissions, and where there is room each with what is left of it", () => {
  const permission = (covers: string, over = {}) => ({
    id: "4f1a",
    given: "hour" as const,
    agent: "planner",
    bundleId: "files",
    tool: "write",
    covers,
    definition: "d",
    configuration: "c",
    ...over,
  });
  const permissions = [
    permission("First.", { usesLeft: 18, untilMs: 5_000 + 59 * 60_000 + 1 }),
    permission(`Second ${"long ".repeat(30)}`, { usesLeft: 1 }),
    permission("Third."),
  ];
  const shown = (rows: number, count = 3) =>
    linesOf({ servers: [server("a", "running")] }, {
      permissions: permissions.slice(0, count),
      rows,
    }).slice(2);
  assertEquals(shown(24, 0).length, 1);
  assertEquals(shown(24), [
    "  ● a  running   1 tool",
    "  ✓ 3 permissions  smcp-computer rules removes them",
    "    First.  (18 left, ends in 59 minutes)",
    `    Second ${"long ".repeat(11)}lon…  (1 left)`,
    "    Third.",
  ]);
  assertEquals(shown(6), [
    ...shown(24).slice(0, 3),
    "  … and 2 more",
  ]);
  assertEquals(shown(4), shown(24).slice(0, 2));
});

Deno.test("statusBlock() shows how far a call is, and how many skills there are, if any", () => {
  const lineOf = (progress?: ToolProgress) => {
    const call = { agent: "a", reqId: "1", tool: "copy", since: 0 };
    return linesOf({}, { calls: [{ ...call, ...(progress && { progress }) }] })
      .at(-1);
  };
  assertEquals(lineOf(), "  ▸ copy by a  5 s");
  assertEquals(
    lineOf({ progress: 3, total: 5, message: "file\x1b[2J" }),
    "  ▸ copy by a  5 s  3/5 file⟨U+001B⟩[2J",
  );
  const ends = [[], ["a", "b"]].map((skills) =>
    / as pc.*$/.exec(linesOf({ skills })[1] ?? "")?.[0]
  );
  assertEquals(ends, [" as pc", " as pc  skills 2"]);
});

Deno.test("a LiveBlock draws at once, prints nothing into a question but afterwards, and leaves nothing behind", async () => {
  using clock = new TestClock();
  const canvas = new PassThrough({ encoding: "utf8" });
  const listeners = canvas.listenerCount("resize");
  let shown = "";
  canvas.on("data", (text) => shown += text);
  const drawn = async () => {
    clock.pass(50);
    await clock.settled();
    return shown.split("\x1b[J").at(-1)?.replace("\x1b[?2026l", "");
  };
  const block = new LiveBlock(
    canvas,
    () => ({ lines: ["[]"], againIn: 1_000 }),
  );
  await clock.settled();
  assertEquals(shown, "\x1b[?2026h\r\x1b[J[]\n\x1b[?2026l");
  const question = Promise.withResolvers<void>();
  const asked = block.asking(() => question.promise);
  block.print("note");
  assertEquals(await drawn(), "");
  question.resolve();
  await asked;
  assertEquals(await drawn(), "note\n[]\n");
  block.print("last");
  block.close();
  assertEquals(await drawn(), "last\n");
  assertEquals(clock.timers, 0);
  assertEquals(canvas.listenerCount("resize"), listeners);
});

Deno.test("clip() keeps small values as they are", () => {
  const odd = { a: [1, { b: "c" }], ["__proto__"]: "own" };
  for (const value of [null, 1, true, "text", [], {}, odd]) {
    const { value: kept, isClipped } = clip(value, 100);
    assertEquals(JSON.stringify(kept), JSON.stringify(value));
    assert(!isClipped);
  }
});

Deno.test("clip() looks at little more than it keeps, and marks what is missing", () => {
  let looked = 0;
  const items = new Proxy(Array.from({ length: 1_000_000 }, () => "item"), {
    get(target, key) {
      if (typeof key === "string" && /^\d+$/.test(key)) looked++;
      return Reflect.get(target, key);
    },
  });
  for (const value of ["x".repeat(10_000), items, { items, more: "text" }]) {
    const { value: kept, isClipped, size } = clip(value, 100);
    assert(isClipped);
    assert(JSON.stringify(kept).length < 250, JSON.stringify(kept));
    assert(JSON.stringify(kept).includes("…"));
    assert(size < 130);
  }
  assert(looked < 200, `${looked}`);
});

const log = (limits?: ConstructorParameters<typeof CallLog>[1]) => {
  const calls = new CallLog(new Changes(), limits);
  const began = (reqId: string, params = {}) =>
    calls.began({ agent: "a", tool: "t", reqId, params });
  const ended = (reqId: string, text: string) =>
    calls.ended({
      agent: "a",
      tool: "t",
      reqId,
      durationMs: 1,
      result: { content: [{ type: "text", text }] },
    });
  return { calls, began, ended };
};

Deno.test("CallLog keeps the latest calls, and the contents of the newest", () => {
  const { calls, began, ended } = log({ calls: 3, each: 100, contents: 200 });
  const outcomes = () =>
    calls.since(0).map(({ key, outcome }) => [key, outcome]);
  for (const id of ["1", "2", "3", "4", "5"]) began(id);
  assertEquals(calls.first, 3);
  ended("1", "too late");
  ended("4", "done");
  assertEquals(outcomes(), [[3, undefined], [4, "ok"], [5, undefined]]);
  assertEquals(calls.content(1), undefined);
  for (const id of ["6", "7", "8"]) {
    began(id);
    ended(id, "x".repeat(1_000));
  }
  assertEquals(outcomes(), [[6, "ok"], [7, "ok"], [8, "ok"]]);
  assertEquals(calls.content(6), undefined);
  assertEquals(calls.content(8)?.isClipped, true);
});

Deno.test("CallLog distinguishes a repeated request from the first one", () => {
  const { calls, began, ended } = log();
  began("1");
  began("1");
  ended("1", "first");
  ended("1", "second");
  assertEquals(
    calls.since(0).map(({ key, outcome }) => [key, outcome]),
    [[1, "ok"], [2, "ok"]],
  );
});

const question = (title: string): Question<string> => ({
  text: { title, subject: title, facts: [] },
  asking: { kind: "confirm", choices: [] },
  needsAll: () => false,
  terminal: undefined,
  read: String,
  describe: (answer) => answer,
  withdrawn: "withdrawn",
});

Deno.test("PageQuestions shows twenty questions at once; others follow", async () => {
  const questions = new PageQuestions(new Changes(), () => {});
  const stop = new AbortController();
  const asked = Array.from(
    { length: 120 },
    (_, i) => questions.ask(question(`${i}`), stop.signal),
  );
  const shown = questions.since(0);
  assertEquals(shown.length, 20);
  questions.answer(shown[0]?.id ?? "", "yes");
  assertEquals(await asked[0], "yes");
  const open = questions.since(0).filter(({ endedBy }) =>
    endedBy === undefined
  );
  assertEquals(open.length, 20);
  assertEquals(open.at(-1)?.title, "20");
  stop.abort();
  assertEquals(
    (await Promise.all(asked)).slice(1),
    Array(119).fill("withdrawn"),
  );
  assertEquals(questions.since(0).length, 50); // of those that have ended
});

Deno.test("PageQuestions goes on without a terminal that fails", async () => {
  const questions = new PageQuestions(new Changes(), () => {});
  const asked = questions.ask({
    ...question("?"),
    terminal: () => Promise.reject(new Error("the terminal is gone")),
  }, new AbortController().signal);
  const [shown] = questions.since(0);
  await Promise.resolve();
  questions.answer(shown?.id ?? "", "yes");
  assertEquals(await asked, "yes");
  assertThrows(
    () => questions.answer(shown?.id ?? "", "no"),
    ProblemError,
    "already",
  );
});

Deno.test("ChangeFeed keeps nothing for a page that does not read, which gets the later state at once", async () => {
  const changes = new Changes();
  let asked = 0;
  const since = (version: number) => {
    asked++;
    return { calls: [], questions: [], firstCall: version };
  };
  const feed = new ChangeFeed(since, changes);
  changes.next();
  const reader = feed.open().pipeThrough(new TextDecoderStream()).getReader();
  const next = async () => {
    const { value = "" } = await reader.read();
    return [...value.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  };
  assertEquals(await next(), [1]);
  for (let i = 0; i < 1_000; i++) {
    changes.next();
    if (i % 100 === 0) await new Promise((resolve) => setTimeout(resolve));
  }
  const seen: number[] = [];
  while (seen.at(-1) !== 1_001) seen.push(...await next());
  assert(seen.length <= 3, `${seen}`);
  assert(asked <= 4, `${asked}`);
  const others = Array.from({ length: 15 }, () => feed.open());
  assert(feed.isFull);
  await others[0]?.cancel();
  assert(!feed.isFull);
  feed.close();
  assertEquals((await reader.read()).done, true);
  assert(feed.isFull);
});

Deno.test("ChangeFeed sends comments while there are no changes, and keeps nothing for them", async () => {
  using clock = new TestClock();
  const changes = new Changes();
  changes.next();
  const feed = new ChangeFeed(() => ({}), changes);
  const reader = feed.open().pipeThrough(new TextDecoderStream()).getReader();
  await reader.read();
  for (let i = 0; i < 20; i++) {
    const next = reader.read();
    await clock.settled();
    assertEquals(changes.listenerCount("change"), 1);
    clock.pass(15_000);
    assertEquals((await next).value, ":\n\n");
  }
  await reader.cancel();
  await clock.settled();
  assertEquals([changes.listenerCount("change"), clock.timers], [0, 0]);
});
