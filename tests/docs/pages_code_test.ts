/**
 * The functions that the pages of `docs/` show, called with what they are made for, and the programs
 * of `examples/`, started as they say; all with the names that tools have at `smcp-server`, and with those
 * at `smcp up`, which serves all versions.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import type { SmcpAgent } from "../../agent/mod.ts";
import type { Confirm, ConfirmAnswer } from "../../computer/mod.ts";
import { notes } from "../../examples/notes.ts";
import { startOffice } from "../../testing/mod.ts";
import { start } from "../support/child.ts";
import { fixture } from "../support/computer/mcp_servers.ts";
import { scratch } from "../support/scratch.ts";
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

/** A kind of Server: the version that its clients speak, and what is before a tool's own name then. */
interface Kind {
  readonly command: string;
  readonly protocol: "0.2" | "all";
  readonly speaks: "0.2" | "0.4";
  readonly prefix: (mcpServer: string) => string;
}

const KINDS: readonly Kind[] = [
  {
    command: "smcp-server",
    protocol: "0.2",
    speaks: "0.2",
    prefix: () => "",
  },
  {
    command: "smcp up",
    protocol: "all",
    speaks: "0.4",
    prefix: (mcpServer) => `${mcpServer}__`,
  },
];

/**
 * An office with a Computer that has what the pages speak of.
 *
 * @param confirm answers for the person at the Computer
 */
const startPageOffice = ({ protocol, speaks }: Kind, confirm: Confirm) =>
  startOffice({
    officeId: "team-a",
    server: { protocol },
    agent: { name: "planner", protocol: speaks },
    computers: {
      laptop: {
        protocol: speaks,
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
    agent.callTool(computer, tool, params, {
      ...options,
      timeoutMs: 1000,
      confirmationTimeoutMs: 1000,
    }),
});

Deno.test({
  name: "the functions of the page for builders of agents do what it says",
  timeout: 180_000,
}, async () => {
  for (const kind of KINDS) await usePage(kind);
});

async function usePage(kind: Kind): Promise<void> {
  const files = kind.prefix("files");
  const once: Confirm = () => "once";
  let person = once;
  await using office = await startPageOffice(
    kind,
    (...request) => person(...request),
  );
  const { agent } = office;

  const modelTools = await exported<(agent: SmcpAgent) => ModelTool[]>(
    "modelTools",
  );
  assertEquals(modelTools(agent).map(({ name }) => name), [
    `laptop__${files}read_text_file`,
    `laptop__${files}pay`,
    `laptop__${files}build`,
    `laptop__${kind.prefix("notes")}add_note`,
  ]);

  const calls: unknown[] = [];
  person = ({ name, params }) => {
    calls.push([name, params]);
    return "once";
  };
  await (await exported<Use<void>>("readNotes"))(agent);
  assertEquals(calls, [[`${files}read_text_file`, { path: "notes.txt" }]]);

  const pay = await exported<(agent: Caller) => Promise<string>>("pay");
  const waiting = "waits for confirmation at laptop";
  for (
    const [answer, ...expected] of [
      ["once", waiting, "answered"],
      [undefined, waiting, "no answer in time"],
      ["no", waiting, "refused"],
      ["once", "refused"], // nobody is asked about the same call soon after a no
    ] as const
  ) {
    const said = Promise.withResolvers<ConfirmAnswer>();
    person = () => said.promise;
    const caller = answer ? agent : impatientOf(agent);
    const lines = await printed(
      async () => console.log(await pay(caller)),
      () => answer && said.resolve(answer), // once the Agent has printed that it waits
    );
    assertEquals(lines, expected);
  }
}

const root = new URL("../../", import.meta.url);

/** What each example says when it does what it promises. */
const says = (prefix: Kind["prefix"]): Record<string, string[]> => ({
  hono_app: ["GET /smcp/", "GET /", "1 members are here"],
  computer: [
    "notes running",
    `planner calls ${prefix("notes")}note with {"text":"buy milk"}`,
    `${prefix("notes")}note is done`,
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
    `planner ${prefix("clock")}days_between`,
    "365 days",
    `local ${prefix("clock")}days_between`,
    "366 days",
  ],
});

/** The same program at a Server that serves all versions. */
const atAll = (code: string): string =>
  code.replaceAll(
    "createSmcpServer({",
    'createSmcpServer({ protocol: "all", ',
  ).replaceAll("createSmcpServer()", 'createSmcpServer({ protocol: "all" })')
    .replaceAll(/(?<=from ")\.\//g, new URL("examples/", root).href);

for (const { command, protocol, prefix } of KINDS) {
  for (const [name, lines] of Object.entries(says(prefix))) {
    Deno.test({
      name:
        `the example ${name}.ts runs, with the command that it names, at a Server as ${command}`,
      timeout: 120_000,
    }, async () => {
      const file = `examples/${name}.ts`;
      const code = await Deno.readTextFile(new URL(file, root));
      const [, args = ""] = /```sh\n \* deno (run .*)\n/.exec(code) ?? [];
      assertStringIncludes(args, file);
      await using folder = await scratch();
      const copy = join(folder.path, `${name}.ts`);
      if (protocol === "all") {
        assert(atAll(code) !== code);
        await Deno.writeTextFile(copy, atAll(code));
      }
      const program = protocol === "all" ? args.replace(file, copy) : args;
      await using example = start(
        Deno.execPath(),
        [
          ...["run", "--config=deno.json", "--no-prompt", "--frozen"],
          ...program.split(" ").slice(1),
        ],
        { cwd: root },
      );
      const { code: exitCode } = await example.status;
      assertEquals(exitCode, 0, example.lines.join("\n"));
      for (const line of lines) {
        assert(
          example.lines.includes(line),
          `"${line}" is not in:\n${example.lines.join("\n")}`,
        );
      }
    });
  }
}
