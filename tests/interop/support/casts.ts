import { assertEquals } from "@std/assert";
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { PROTOCOL_NAMES } from "../../../protocol/version.ts";
import { startProxy } from "../../support/proxy.ts";
import {
  type AgentParty,
  ourAgent,
  ourComputer,
  ourServer,
  pythonAgent,
  pythonComputer,
  pythonServer,
  rustAgent,
  rustServer,
} from "./parties.ts";
import { COLUMNS, exposedName, KNOWN, type Marks, play } from "./scenario.ts";
import type { Sdk } from "./venv.ts";
import { openWorkplace } from "./workplace.ts";

/** A combination of Agent, Server and Computer. */
export interface Cast {
  /** The version of the Agent. */
  readonly sdk: Sdk;
  /** The version of the Computer; where it is another one, the Server lets all in. */
  readonly computerSdk: Sdk;
  readonly agent: "our" | "Python" | "Rust";
  readonly server: "our" | "Python" | "Rust";
  readonly computer: "our" | "Python";
}

/** Describes a cast. */
export const castOf = (
  agent: Cast["agent"],
  server: Cast["server"],
  computer: Cast["computer"],
  [sdk, computerSdk = sdk]: readonly [sdk: Sdk, computerSdk?: Sdk],
): Cast => ({ sdk, computerSdk, agent, server, computer });

/** Every cast of Python's parties and ours in which both kinds meet; our Agent and Computer do not speak 0.1 to a Server that asks. */
export const CASTS: readonly Cast[] = [
  castOf("Python", "our", "Python", ["0.1"]),
  castOf("Python", "Python", "our", ["0.1"]),
  castOf("our", "Python", "Python", ["0.1"]),
  castOf("our", "Python", "our", ["0.1"]),
  ...(["0.2", "0.3", "0.4"] as const).flatMap((sdk) => [
    castOf("Python", "our", "Python", [sdk]),
    castOf("Python", "our", "our", [sdk]),
    castOf("our", "our", "Python", [sdk]),
    castOf("our", "Python", "our", [sdk]),
    castOf("our", "Python", "Python", [sdk]),
    castOf("Python", "Python", "our", [sdk]),
  ]),
];

/** Python's Agents and Computers of each two versions, and of each older version with ours, in one office. */
export const MIXED_CASTS: readonly Cast[] = PROTOCOL_NAMES.flatMap((sdk) => [
  ...PROTOCOL_NAMES.filter((other) => other !== sdk)
    .map((other) => castOf("Python", "our", "Python", [sdk, other])),
  ...(sdk === "0.4" ? [] : [
    castOf("Python", "our", "our", [sdk, "0.4"]),
    castOf("our", "our", "Python", ["0.4", sdk]),
  ]),
]);

/** The first test waits for the download of the SDK from PyPI. */
export const SCREEN_TIMEOUT_MS = 600_000;

/** Registers a test of each cast of a version. */
export function testCasts(sdk: Sdk): void {
  for (const cast of CASTS) if (cast.sdk === sdk) testCast("casts", cast);
}

/** Registers a test of a cast, which compares its row in a table of `README.md`. */
export function testCast(table: string, cast: Cast): void {
  const { sdk, computerSdk } = cast;
  const others = computerSdk === sdk ? "" : ` of ${computerSdk}`;
  Deno.test({
    name:
      `${sdk}: ${cast.agent} Agent, ${cast.server} Server, ${cast.computer} Computer${others}`,
    timeout: SCREEN_TIMEOUT_MS,
  }, async (t) => {
    await using server = computerSdk === sdk
      ? await SERVERS[cast.server](sdk)
      : await ourServer("all");
    const marks = await playCast(t, cast, server.url);
    await t.step("README.md says so", () => compareRow(table, cast, marks));
  });
}

/** Runs all steps of a cast at a Server. */
export async function playCast(
  t: Deno.TestContext,
  { sdk, computerSdk, ...cast }: Cast,
  url: string,
): Promise<Marks> {
  await using place = await openWorkplace();
  await using left = await startProxy(url);
  await using right = await startProxy(url);
  await using agent = await AGENTS[cast.agent](sdk, left.url);
  await using computer = cast.computer === "our"
    ? await ourComputer(right.url, place)
    : await pythonComputer(computerSdk, right.url, place);
  const parties = { agent: byMcpName(computerSdk, agent), computer };
  return await play(t, {
    sdk,
    computerSdk,
    ...parties,
    place,
    lose: (party) => (party === "agent" ? left : right).sever(),
  }, {
    ...KNOWN[`${sdk} ${cast.agent} agent`],
    ...KNOWN[`${sdk} ${cast.server} server`],
    ...KNOWN[`${computerSdk} ${cast.computer} computer`],
  });
}

const SERVERS = { our: ourServer, Python: pythonServer, Rust: rustServer };
const AGENTS = {
  our: ourAgent,
  Python: pythonAgent,
  Rust: (_sdk: Sdk, url: string) => rustAgent(url),
};

/** Lets the calls of an Agent name tools as their MCP server does. */
export const byMcpName = (sdk: Sdk, agent: AgentParty): AgentParty => ({
  ...agent,
  call: (tool, params, options) =>
    agent.call(exposedName(sdk, tool), params, options),
  callAs: (reqId, tool, timeout) =>
    agent.callAs(reqId, exposedName(sdk, tool), timeout),
});

const README = new URL("../README.md", import.meta.url);

/**
 * Compares the outcome of a cast with its row in a table of `README.md`, which is between comments of
 * its name; writes the row instead where the environment has SMCP_INTEROP_WRITE.
 */
async function compareRow(
  table: string,
  cast: Cast,
  marks: Marks,
): Promise<void> {
  const { before, rows, after } = await readTable(table);
  const key = keyOf(cast);
  const row = [...partiesOf(cast), ...COLUMNS.map((c) => cellOf(marks[c]))];
  if (process.env.SMCP_INTEROP_WRITE === undefined) {
    assertEquals(
      rows.get(key),
      row,
      "The table in tests/interop/README.md is not what the run showed: deno task docs:interop writes it",
    );
    return;
  }
  rows.set(key, row);
  const head = ["Agent", "Server", "Computer", ...COLUMNS];
  const sorted = [...rows.keys()].sort().map((key) => rows.get(key) ?? []);
  const lines = [head, head.map(() => "---"), ...sorted]
    .map((cells) => `| ${cells.join(" | ")} |`);
  await writeFile(README, `${before}\n\n${lines.join("\n")}\n\n${after}`);
}

/** Compares the parties of all rows in a table of `README.md` with casts. */
export async function compareParties(
  table: string,
  casts: readonly Cast[],
): Promise<void> {
  const { rows } = await readTable(table);
  assertEquals([...rows.keys()].sort(), casts.map(keyOf).sort());
}

/** Reads the rows of a table by their parties, and the text around it. */
async function readTable(table: string) {
  const text = await readFile(README, "utf8");
  const mark = `<!-- ${table} -->`;
  const begin = text.indexOf(mark) + mark.length;
  const end = text.indexOf(`<!-- /${table} -->`);
  const [, , ...lines] = text.slice(begin, end).trim().split("\n");
  const cells = lines.map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  );
  return {
    before: text.slice(0, begin),
    rows: new Map(cells.map((row) => [row.slice(0, 3).join(), row])),
    after: text.slice(end),
  };
}

const SHORT = { our: "ours", Python: "py", Rust: "rust" };

function partiesOf({ sdk, agent, server, computer, computerSdk }: Cast) {
  const serverSdk = computerSdk === sdk ? sdk : "all";
  return [
    `${sdk} ${SHORT[agent]}`,
    `${serverSdk} ${SHORT[server]}`,
    `${computerSdk} ${SHORT[computer]}`,
  ];
}

const keyOf = (cast: Cast): string => partiesOf(cast).join();

/** `✓` where all passed, with the numbers of known failures if some did; `✗` with numbers where none did. */
function cellOf(marks: Marks[keyof Marks]): string {
  if (marks.length === 0) return "–";
  if (marks.includes("failed")) return "failed";
  const known = [...new Set(marks.filter((mark) => typeof mark === "number"))];
  const sign = marks.includes("passed") || known.length === 0 ? "✓" : "✗";
  return [sign, ...known.map((number) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[number])].join(" ");
}
