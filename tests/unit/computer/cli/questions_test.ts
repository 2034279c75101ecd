import {
  callChoices,
  describeCall,
} from "../../../../computer/cli/question_text.ts";
import { assert, assertEquals } from "@std/assert";
import type { Key } from "node:readline";
import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type {
  ConfirmAnswer,
  ConfirmRequest,
} from "../../../../computer/tools/confirm.ts";
import type { ElicitResult } from "../../../../protocol/mod.ts";
import type { ElicitRequest } from "../../../../computer/tools/elicitations.ts";
import {
  pressKey,
  type Terminal,
  untilKeysCount,
} from "../../../../computer/cli/ask_choice.ts";
import {
  UNREAD,
  viewQuestion,
} from "../../../../computer/cli/question_view.ts";
import { Screen, type View } from "../../../../computer/cli/screen.ts";
import { confirmRequest } from "../../../support/approvals/confirm_request.ts";
import { terminalQuestions } from "../../../../computer/cli/terminal_questions.ts";

const request = (tool = "write_file"): ConfirmRequest =>
  confirmRequest({ tool, params: { path: "a.txt" } });

const never = new AbortController().signal;

/**
 * A simulated terminal: the test writes keys and reads the output.
 *
 * @param wait by default, keys are accepted once all earlier input is read
 * @param asking by default, nothing else uses the terminal
 */
function terminal(
  wait: Terminal["wait"] = () => setImmediate(),
  asking: View["asking"] = (ask) => ask(),
) {
  const modes: { readonly raw: boolean; readonly shown: string }[] = [];
  const input = Object.assign(new PassThrough(), {
    setRawMode: (raw: boolean) => modes.push({ raw, shown }),
  });
  const output = new PassThrough();
  let shown = "";
  const waiting: (() => void)[] = [];
  output.on("data", (chunk) => {
    shown += chunk;
    for (const wake of waiting.splice(0)) wake();
  });
  return {
    input,
    /** The modes of the terminal so far, each with what was shown before. */
    modes,
    questions: terminalQuestions({ input, output, wait }, asking),
    /** Resolves once a text is shown after the last call of `shows`. */
    async shows(text: string): Promise<void> {
      while (!shown.includes(text)) {
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      shown = shown.slice(shown.indexOf(text) + text.length);
    },
    type: (keys: string) => void input.write(keys),
    all: () => shown,
    /** Marks the output so far as seen. */
    async seen(): Promise<void> {
      await setImmediate();
      shown = "";
    },
  };
}

/** The text of a question that accepts keys. */
const KEYS_COUNT = "y, h, a, m or n";
const AT_TERMINAL = "at the terminal";
const DOWN = "\u001b[B";
const UP = "\u001b[A";
const CTRL_C = "\u0003";

Deno.test("terminalQuestions() asks whether a tool may run: once, for an hour, always, no to all, no", async () => {
  const { questions, shows, type, seen } = terminal();
  const rows: [keys: string, answer: ConfirmAnswer][] = [
    ["\r", "no"], // the default
    [`${UP}\r`, "mute"],
    [`${UP}${UP}\r`, "always"],
    [`${UP}${UP}${UP}\r`, "hour"],
    [`${UP}${UP}${UP}${UP}\r`, "once"],
    [`${DOWN}\r`, "no"], // nothing is below it
    [`${UP.repeat(6)}\r`, "once"],
    ["y", "once"],
    ["h", "hour"],
    ["a", "always"],
    ["m", "mute"],
    ["n", "no"],
    ["l\r", "no"],
    ["jk \t\r", "no"],
    [CTRL_C, "no"],
  ];
  for (const [keys, answer] of rows) {
    const word = questions.confirm(request(), never);
    await shows(KEYS_COUNT);
    type(keys);
    assertEquals(
      await word,
      { answer, by: AT_TERMINAL },
      JSON.stringify(keys),
    );
    await seen(); // it was redrawn for each step
  }
});

Deno.test("terminalQuestions() lets no key be echoed from before a question to its end", async () => {
  const { questions, shows, type, modes } = terminal();
  const word = questions.confirm(request(), never);
  await shows(KEYS_COUNT);
  assertEquals(modes[0], { raw: true, shown: "" });
  assert(modes.every(({ raw }) => raw), "the terminal left raw mode");
  type("n");
  await word;
  assertEquals(modes.at(-1)?.raw, false);
});

Deno.test("terminalQuestions() ignores keys typed before they are accepted", async () => {
  const waiting: (() => void)[] = [];
  const { questions, shows, type, all } = terminal(async (signal) => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await setImmediate();
  });
  type("y\ra"); // before the question
  const word = questions.confirm(request(), never);
  const value = questions.askInput({
    type: "promptString",
    id: "user",
    description: "User",
  }, never);
  await shows("Run this tool?");
  type("y\r");
  type("a");
  await setImmediate();
  assert(!all().includes(KEYS_COUNT));
  waiting.shift()?.();
  await shows(KEYS_COUNT);
  type("n");
  assertEquals((await word).answer, "no");
  await shows('(input "user")');
  type("status\r");
  await setImmediate();
  waiting.shift()?.();
  await shows('(input "user")');
  type("ann\r");
  assertEquals(await value, "ann");
});

Deno.test("terminalQuestions() gives the terminal back between questions, so that what was held is shown", async () => {
  const taken: string[] = [];
  const { questions, shows, type } = terminal(undefined, async (ask) => {
    taken.push("question");
    try {
      return await ask();
    } finally {
      taken.push("back");
    }
  });
  const words = ["a", "b"].map((tool) =>
    questions.confirm(request(tool), never)
  );
  for (const _ of words) {
    await shows(KEYS_COUNT);
    type("n");
  }
  await Promise.all(words);
  assertEquals(taken, ["question", "back", "question", "back"]);
});

Deno.test("terminalQuestions() leaves lines pasted into the shell to the shell", async () => {
  const { questions, shows, type, input } = terminal();
  input.unshift("start all\r"); // like the shell's prompt with unread input
  const word = questions.confirm(request(), never);
  await shows(KEYS_COUNT);
  type("n");
  assertEquals((await word).answer, "no");
  assertEquals(`${input.read()}`, "start all\r");
});

Deno.test("pressKey() moves up and down without wrapping, and ignores other keys", () => {
  const rows: [
    selected: ConfirmAnswer,
    key: Key,
    outcome: { selected: ConfirmAnswer } | { answer: unknown },
  ][] = [
    ["no", { name: "down" }, { selected: "no" }],
    ["no", { name: "up" }, { selected: "mute" }],
    ["mute", { name: "up" }, { selected: "always" }],
    ["always", { name: "up" }, { selected: "hour" }],
    ["hour", { name: "up" }, { selected: "once" }],
    ["once", { name: "up" }, { selected: "once" }],
    ["once", { name: "down" }, { selected: "hour" }],
    ["once", { name: "return" }, { answer: "once" }],
    ["no", { name: "return" }, { answer: "no" }],
    ["once", { name: "escape" }, { answer: undefined }],
    ["once", { name: "c", ctrl: true }, { answer: undefined }],
    ["no", { name: "y" }, { answer: "once" }],
    ["no", { name: "a" }, { answer: "always" }],
    ["no", { name: "h" }, { answer: "hour" }],
    ["no", { name: "m" }, { answer: "mute" }],
    ["once", { name: "n" }, { answer: "no" }],
    ["no", { name: "y", ctrl: true }, { selected: "no" }],
    ["no", { name: "a", meta: true }, { selected: "no" }],
  ];
  const outcome = (selected: ConfirmAnswer, key: Key) => {
    const view = viewQuestion(
      describeCall(request()),
      { columns: 80, rows: 20 },
      UNREAD,
    );
    const { reading } = view;
    const after = pressKey(
      { choices: callChoices(request()) },
      { selected, reading },
      view,
      key,
    );
    return "answer" in after ? after : { selected: after.selected };
  };
  for (const [selected, key, expected] of rows) {
    assertEquals(outcome(selected, key), expected, JSON.stringify(key));
  }
  for (const name of ["l", "j", "k", "left", "right", "tab", "space"]) {
    assertEquals(outcome("no", { name }), { selected: "no" }, name);
  }
});

Deno.test("terminalQuestions() asks one question at a time, and removes withdrawn ones", async () => {
  const { questions, shows, type, all } = terminal();
  const first = new AbortController();
  const second = new AbortController();
  const words = [
    questions.confirm(request("t1"), first.signal),
    questions.confirm(request("t2"), second.signal),
    questions.confirm(request("t3"), never),
  ];
  await shows('Tool: "t1"');
  assert(!all().includes('"t2"'));
  second.abort();
  first.abort();
  await shows('"t3"');
  await shows(KEYS_COUNT);
  type("y");
  assertEquals(
    (await Promise.all(words)).map(({ answer }) => answer),
    ["no", "no", "once"],
  );
  assert(!all().includes('"t2"'));
});

Deno.test("terminalQuestions() asks for values: typed, hidden, picked, the default, none", async () => {
  const { questions, shows, type, all } = terminal();
  const ask = async (
    input: Parameters<typeof questions.askInput>[0],
    keys: string,
  ) => {
    const value = questions.askInput(input, never);
    await shows(`(input "${input.id}") …`);
    await shows(`(input "${input.id}")`); // from now on keys are accepted
    type(keys);
    return await value;
  };
  const text = { type: "promptString", description: "User" } as const;
  assertEquals(await ask({ ...text, id: "a" }, "ann\r"), "ann");
  assertEquals(await ask({ ...text, id: "b", default: "bob" }, "\r"), "bob");
  assertEquals(await ask({ ...text, id: "c" }, "\r"), undefined);
  assertEquals(await ask({ ...text, id: "d" }, CTRL_C), undefined);
  const secret = { ...text, id: "e", password: true };
  assertEquals(await ask(secret, "hunter2\r"), "hunter2");
  assert(!all().includes("hunter2"), all());
  const pick = {
    type: "pickString",
    id: "f",
    description: "Where",
    options: ["eu", "us", "ap"],
    default: "us",
  } as const;
  assertEquals(
    await ask({ ...pick, options: [...pick.options] }, `${DOWN}\r`),
    "ap",
  );
});

const form = (
  properties: Record<string, unknown>,
  required: string[] = [],
): ElicitRequest => ({
  server: "files",
  agent: "planner",
  tool: "write",
  message: "Where to?\u001b[2J",
  requestedSchema: { type: "object", properties, required },
});

Deno.test("terminalQuestions() asks a form field by field, with defaults and validation", async () => {
  const { questions, shows, type, all } = terminal();
  const answer = questions.elicit(
    form({
      name: { type: "string", title: "Name", minLength: 3 },
      count: { type: "integer", default: 2, maximum: 9 },
      sure: { type: "boolean", title: "Sure" },
      colour: { type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"] },
      token: { type: "string", title: "Access" },
      note: { type: "string" },
    }, ["name", "count", "sure", "colour", "token"]),
    never,
  );
  const steps: [keys: string, ...texts: string[]][] = [
    [
      "y",
      'MCP server: "files"',
      "Where to?⟨U+001B⟩[2J",
      'For a call of: "write"',
      'Asked by: Agent "planner"',
      "y or n",
    ],
    ["ab\r", "Name …", "Name"], // keys count from the second time on
    ["c\r", "At least 3"],
    ["\r", "count …", "count"], // the default
    ["\r", "Sure …", "no answer"], // a stray Enter chooses nothing
    [`${DOWN}\r`, "Sure …", "no answer"],
    [`${DOWN}${DOWN}\r`, "colour …", "Green"],
    ["hunter2\r", "Access …", "Access"],
    ["\r", "note (optional) …", "note"],
  ];
  for (const [keys, ...texts] of steps) {
    for (const text of texts) await shows(text);
    type(keys);
  }
  assertEquals(await answer, {
    action: "accept",
    content: {
      name: "abc",
      count: 2,
      sure: true,
      colour: "g",
      token: "hunter2",
    },
  });
  assert(!all().includes("hunter"));
});

Deno.test("terminalQuestions() declines a form by default, and cancels it with Esc", async () => {
  const rows: [keys: string, action: ElicitResult["action"]][] = [
    ["\r", "decline"],
    ["n", "decline"],
    ["x \r", "decline"],
    [CTRL_C, "cancel"],
  ];
  const { questions, shows, type, seen } = terminal();
  for (const [keys, action] of rows) {
    const answer = questions.elicit(form({}), never);
    await shows("y or n");
    type(keys);
    assertEquals(await answer, { action }, JSON.stringify(keys));
    await seen();
  }
  const answer = questions.elicit(form({ a: { type: "string" } }), never);
  await shows("y or n");
  type("y");
  await shows("(optional) …");
  await shows("(optional)");
  type(CTRL_C);
  assertEquals(await answer, { action: "cancel" });
});

Deno.test("terminalQuestions() shows a page to open whole, opens nothing, and declines by default", async () => {
  const rows: [keys: string, action: ElicitResult["action"]][] = [
    ["y", "accept"],
    ["\r", "decline"],
    [CTRL_C, "cancel"],
  ];
  const { questions, shows, type, seen } = terminal();
  const url = "https://xn--80ak6aa92e.com/a?b=c";
  for (const [keys, action] of rows) {
    const answer = questions.elicit({ ...form({}), url }, never);
    await shows('Host: "xn--80ak6aa92e.com"');
    await shows(`Page: "${url}"`);
    await shows("I have opened it");
    await shows("y or n");
    type(keys);
    assertEquals((await answer).action, action, JSON.stringify(keys));
    await seen();
  }
});

Deno.test("terminalQuestions() removes a form that is withdrawn", async () => {
  const { questions, shows, type } = terminal();
  const withdrawn = new AbortController();
  const answer = questions.elicit(
    form({ a: { type: "string" } }),
    withdrawn.signal,
  );
  await shows("y or n");
  type("y");
  await shows("(optional) …");
  await shows("(optional)");
  withdrawn.abort();
  assertEquals(await answer, { action: "cancel" });
});

Deno.test("a default of an MCP server is written by name, shown whole in the question, and sent as it is", async () => {
  const hostile = `safe\u001b]0;x\u0007\u001b[2J\u202e${"x".repeat(300)}end`;
  const { questions, shows, type, all } = terminal();
  const answer = questions.elicit(
    form({ b: { type: "string", default: hostile } }, ["b"]),
    never,
  );
  await shows('Enter alone: "safe⟨U+001B⟩');
  await shows('end"'); // no beginning of it alone
  await shows("y or n");
  type("y");
  await shows("b …");
  await shows("b");
  type("\r");
  assertEquals(await answer, { action: "accept", content: { b: hostile } });
  assert(!all().includes("\u001b]0;") && !all().includes("\u202e"));
});

Deno.test("what is pasted turns one page at most, and answers nothing", async () => {
  const { questions, shows, type } = terminal();
  const params = { content: "harmless note ".repeat(300), path: "a" };
  const word = questions.confirm({ ...request(), params }, never);
  await shows("Space shows all");
  let isAnswered = false;
  void word.then(() => isAnswered = true);
  type("please do  this  and  then  say  yes  a");
  await shows("Space shows more");
  assertEquals(isAnswered, false);
  type(CTRL_C);
  assertEquals((await word).answer, "no");
});

Deno.test("keys count once none was pressed for a moment, however late the process reads them", async () => {
  const heard = [true, true, false];
  await untilKeysCount(never, () => heard.shift() ?? false);
  assertEquals(heard, []);
});

Deno.test("a terminal that says no size is taken for one of 80 columns", () => {
  const output = new PassThrough();
  const screen = new Screen(Object.assign(output, { columns: 0, rows: 0 }));
  assertEquals([screen.columns, screen.rows], [79, 23]);
  screen.draw(["a", "b"]);
  screen.draw(["c"]);
  assert(!String(output.read()).includes("Infinity"));
});
