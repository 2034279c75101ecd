import { PassThrough } from "node:stream";
import { assertEquals, assertMatch } from "@std/assert";
import { drawTable } from "../../../../computer/cli/shell/command.ts";
import { Prompt } from "../../../../computer/cli/shell/prompt.ts";
import { keptLine } from "../../../../computer/cli/shell/run_line.ts";

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

const HEAD = ["Name", "What"];
const ROWS = [
  ["a", "words of 漢字 and 🎉"],
  ["two\nlines", ["fine", "good"]],
] as const;

Deno.test("drawTable() frames cells of several lines, and counts wide characters twice", () => {
  assertEquals(
    drawTable(HEAD, ROWS, { columns: 80, colour: false }).coloured.split("\n"),
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
    drawTable(HEAD, ROWS, { columns: 25, colour: true }).coloured.split("\n"),
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
    drawTable(HEAD, [], { columns: 80, colour: false }).coloured.split("\n"),
    ["┌──────┬──────┐", "│ Name │ What │", "└──────┴──────┘"],
  );
});

const newPrompt = () => {
  const output = new PassThrough({ encoding: "utf8" });
  const prompt = new Prompt({
    input: new PassThrough(),
    output,
    prompt: "smcp> ",
    complete: (line) => [[], line],
    history: [],
  });
  return { output, prompt };
};

Deno.test("Prompt prints nothing into a question, but afterwards", async () => {
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

Deno.test("Prompt prints what it held when it is closed within a question", () => {
  const { output, prompt } = newPrompt();
  void prompt.pauseFor(() => new Promise<void>(() => {}));
  prompt.print("error: no office");
  prompt.close();
  assertEquals(output.read(), "error: no office\n");
});
