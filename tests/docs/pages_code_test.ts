/**
 * The functions that the pages of `docs/` show, called with what they are made for, and the programs
 * of `examples/`, started as they say.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { SmcpAgent } from "../../agent/mod.ts";
import type { Confirm, ConfirmAnswer } from "../../computer/mod.ts";
import { notes } from "../../examples/notes.ts";
import { startOffice } from "../../testing/mod.ts";
import { start } from "../support/child.ts";
import { fixture } from "../support/computer/mcp_servers.ts";
import { codeBlocks } from "./support/blocks.ts";

const blocks = await codeBlocks();

/** The function of a page, as it is written there. */
async function exported<F>(name: string): Promise<F> {
  const block = blocks.find(({ language, code }) =>
    language === "ts" && code.includes(`function ${name}(`)
  );
  assert(block, `No page shows ${name}()`);
  const url = `data:application/typescript,${encodeURIComponent(block.code)}`;
  const module: Record<string, F> = await import(url);
  const found = module[name];
  assert(found);
  return found;
}

/**
 * An office with a Computer that has what the pages speak of.
 *
 * @param confirm answers for the person at the Computer
 */
const startPageOffice = (confirm: Confirm) =>
  startOffice({
    officeId: "team-a",
    agent: { name: "planner" },
    computers: {
      laptop: {
        servers: {
          files: fixture({ only: ["echo", "meta", "slow"] }, {
            tool_meta: {
              echo: { alias: "read_text_file" },
              meta: { alias: "pay" },
              slow: { alias: "build" },
            },
          }),
          notes,
        },
        confirm,
      },
    },
  });

/** What is printed while something runs. */
async function printed(
  run: () => Promise<unknown>,
  onLine: () => unknown = () => {},
): Promise<string[]> {
  const lines: string[] = [];
  const { log } = console;
  console.log = (...words: unknown[]) => {
    lines.push(words.join(" "));
    onLine();
  };
  try {
    await run();
  } finally {
    console.log = log;
  }
  return lines;
}

/** Of the page. */
interface ModelTool {
  name: string;
}

Deno.test({
  name: "the tests that the page for builders of agents shows pass",
  timeout: 180_000,
  fn: async () => {
    const triesAgain = await exported<() => Promise<void>>("testTriesAgain");
    await triesAgain();
  },
});

type Use<T> = (agent: SmcpAgent) => Promise<T>;

/** What of an Agent finds and calls tools. */
type Caller = Pick<SmcpAgent, "callTool" | "findTool">;

/** An Agent that waits a second for each call, where the page would wait for minutes. */
const impatientOf = (agent: SmcpAgent): Caller => ({
  findTool: (name) => agent.findTool(name),
  callTool: (computer, tool, params, options) =>
    agent.callTool(computer, tool, params, { ...options, timeoutMs: 1000 }),
});

Deno.test({
  name: "the functions of the page for builders of agents do what it says",
  timeout: 180_000,
  fn: async () => {
    const once: Confirm = () => "once";
    let person = once;
    await using office = await startPageOffice((...request) =>
      person(...request)
    );
    const { agent } = office;

    const modelTools = await exported<(agent: SmcpAgent) => ModelTool[]>(
      "modelTools",
    );
    assertEquals(modelTools(agent).map(({ name }) => name), [
      "laptop__read_text_file",
      "laptop__pay",
      "laptop__build",
      "laptop__add_note",
    ]);

    const calls: unknown[] = [];
    person = ({ name, params }) => {
      calls.push([name, params]);
      return "once";
    };
    await (await exported<Use<void>>("readNotes"))(agent);
    assertEquals(calls, [["read_text_file", { path: "notes.txt" }]]);

    const pay = await exported<(agent: Caller) => Promise<string>>("pay");
    for (
      const [answer, end] of [
        ["once", "answered"],
        ["no", "the person refused"],
        [undefined, "nobody was there"],
      ] as const
    ) {
      const said = Promise.withResolvers<ConfirmAnswer>();
      person = () => said.promise;
      const caller = answer ? agent : impatientOf(agent);
      const lines = await printed(
        async () => console.log(await pay(caller)),
        () => answer && said.resolve(answer), // once the Agent has printed that it waits
      );
      assertEquals(lines, ["waits for confirmation at laptop", end]);
    }
  },
});

const root = new URL("../../", import.meta.url);

/** What each example says when it does what it promises. */
const says: Record<string, string[]> = {
  hono_app: ["GET /smcp/", "GET /", "1 members are here"],
  computer: [
    "notes running",
    `planner wants note with {"text":"buy milk"}`,
    "note is done",
    "error_code 4005",
    "window://notes/all",
    "- buy milk",
  ],
  agent_loop: [
    `{"role":"result","text":"2 notes"}`,
    `{"role":"assistant","text":"I noted 2 things"}`,
  ],
  dpe_resolver: ["# Notes", "- buy milk"],
  in_process: [
    "planner days_between",
    "365 days",
    "local days_between",
    "366 days",
  ],
};

for (const [name, lines] of Object.entries(says)) {
  Deno.test({
    name: `the example ${name}.ts runs, with the command that it names`,
    timeout: 120_000,
  }, async () => {
    const file = `examples/${name}.ts`;
    const [, args = ""] = /```sh\n \* deno (run .*)\n/.exec(
      await Deno.readTextFile(new URL(file, root)),
    ) ?? [];
    assertStringIncludes(args, file);
    await using example = start(
      Deno.execPath(),
      [...args.split(" ").toSpliced(1, 0, "--no-prompt", "--frozen")],
      { cwd: root },
    );
    const { code } = await example.status;
    assertEquals(code, 0, example.lines.join("\n"));
    for (const line of lines) {
      assert(
        example.lines.includes(line),
        `"${line}" is not in:\n${example.lines.join("\n")}`,
      );
    }
  });
}
