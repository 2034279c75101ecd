import process from "node:process";
import {
  columns,
  plain,
  plainLines,
} from "../../protocol/cli/terminal_text.ts";
import {
  GET_DESKTOP_EVENT,
  GET_FINDER_EVENT,
  GET_RESOURCES_EVENT,
  type Resource,
} from "../../protocol/mod.ts";
import { reasonOf } from "../_values.ts";
import { SmcpComputer } from "../computer.ts";
import type { ComputerConfig } from "../config/parse_config.ts";
import { placeholderIds } from "../placeholders.ts";
import { isDocument, isWindow } from "../resources/listed_uri.ts";
import type { ServerStatus } from "../server_status.ts";
import { loadHostConfig, strayVariables } from "./host_config.ts";
import { logTo } from "./logging.ts";
import type { HostFlags } from "./make_computer.ts";
import { firstSignal } from "./signals.ts";

/** What to check. */
export interface CheckFlags extends HostFlags {
  /** The configuration file. */
  config: string;
  /** Print JSON. */
  json?: boolean;
}

/** What was found out about one MCP server. */
interface CheckedServer {
  readonly name: string;
  readonly type: ServerStatus["type"];
  readonly state: ServerStatus["state"];
  readonly tools: readonly string[];
  readonly windows: readonly string[];
  readonly documents: readonly string[];
  readonly error?: string;
}

/** What was found out about a configuration. */
interface Findings {
  readonly servers: readonly CheckedServer[];
  readonly inputs: readonly { id: string; type: string; used: boolean }[];
  /** What keeps something from working; each says how to put it right. */
  readonly problems: readonly string[];
  /** What is odd, and works. */
  readonly warnings: readonly string[];
}

const A_DAY = 86_400_000;

/** Starts everything that a configuration names, once, and says what is there and what is wrong. */
export async function check(flags: CheckFlags): Promise<void> {
  const config = await loadHostConfig(flags.config, flags.input);
  const warnings = new Set(strayVariables(process.env, config.inputs));
  await logTo((line) => warnings.add(withoutTime(line)));
  const computer = new SmcpComputer({
    url: "http://127.0.0.1", // is never connected to
    name: "check",
    inputs: config.inputs,
    servers: config.servers,
    inputValues: flags.input,
    maxMessageBytes: flags.maxMessage,
    restart: { first: A_DAY, most: A_DAY }, // each is started once
    oauth: { directory: flags.oauthDir, authorize: () => {} },
  });
  try {
    const found = await Promise.race([
      examine(computer, config, warnings),
      firstSignal().then(() => undefined),
    ]);
    if (!found) throw new Error("stopped before everything was checked");
    if (flags.json) console.log(JSON.stringify(found, null, 2));
    else print(found, flags.config);
    const { problems } = found;
    if (problems.length > 0) {
      throw new Error(
        problems.length === 1
          ? "there is a problem; it is listed above, with its remedy"
          : `there are ${problems.length} problems; they are listed above, each with its remedy`,
      );
    }
  } finally {
    await computer.close();
  }
}

async function examine(
  computer: SmcpComputer,
  config: ComputerConfig,
  warnings: ReadonlySet<string>,
): Promise<Findings> {
  computer.start();
  await computer.serversSettled();
  // What is wrong with windows and documents is said when they are asked for.
  await computer.answer(GET_DESKTOP_EVENT, {});
  await computer.answer(GET_FINDER_EVENT, {});
  const { servers, tools, problems } = computer.status();
  const resources = await Promise.all(
    servers.map(({ name }) => resourcesOf(computer, name)),
  );
  const used = placeholderIds(
    config.servers.map(({ server_parameters }) => server_parameters),
  );
  return {
    servers: servers.map((status, i) => checked(status, tools, resources[i])),
    inputs: config.inputs.map(({ id, type }) => ({
      id,
      type,
      used: used.includes(id),
    })),
    problems: [
      ...servers.flatMap(({ name, error, state }) =>
        error === undefined || state === "running"
          ? []
          : [`MCP server "${name}": ${withRemedy(error)}`]
      ),
      ...servers.flatMap(({ name, problems }) =>
        problems.map((text) => `MCP server "${name}": ${text}`)
      ),
      ...problems,
    ],
    warnings: [...warnings].filter((text) =>
      !problems.some((problem) => text.includes(problem))
    ),
  };
}

const checked = (
  { name, type, state, error }: ServerStatus,
  tools: readonly { name: string; server: string }[],
  resources: readonly Resource[] = [],
): CheckedServer => {
  const uris = resources.map(({ uri }) => uri);
  return {
    name,
    type,
    state,
    tools: tools.filter(({ server }) => server === name).map(({ name }) =>
      name
    ),
    windows: uris.filter(isWindow),
    documents: uris.filter(isDocument),
    ...(error !== undefined && { error }),
  };
};

/** All pages; a server that has no resources, or does not run, has none. */
async function resourcesOf(
  computer: SmcpComputer,
  server: string,
): Promise<Resource[]> {
  const found: Resource[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await computer.answer(GET_RESOURCES_EVENT, {
      mcp_server: server,
      ...(cursor !== undefined && { cursor }),
    }).catch(() => undefined);
    found.push(...page?.resources ?? []);
    if (cursor !== undefined) seen.add(cursor);
    cursor = page?.next_cursor;
  } while (cursor !== undefined && !seen.has(cursor));
  return found;
}

/** What an error does not say itself: what a person can do about it. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/exited with code|closed|ended/i, "run its command by hand to see why"],
  [
    /not ready within/i,
    "run its command by hand: does it wait for something, or is it no MCP server?",
  ],
  [
    /ECONNREFUSED|fetch failed|connect|network/i,
    "is it running, and is its url right?",
  ],
  [
    /\b401\b|\b403\b|authoriz/i,
    "give it an Authorization header, or sign in when the Computer runs",
  ],
  [/\b404\b/, "correct the path of its url"],
  [/permission|EACCES/i, "make the program executable (chmod +x)"],
];

function withRemedy(error: string): string {
  if (/\n\s*\^/.test(error)) return error; // a line with a caret below it
  const text = error.replaceAll(/\s*\n\s*/g, ": ");
  if (/;/.test(text)) return text; // it says already
  const known = REMEDIES.find(([words]) => words.test(text));
  return known ? `${text}; ${known[1]}` : text;
}

function print(
  { servers, inputs, problems, warnings }: Findings,
  file: string,
): void {
  console.log(
    `${file}: ${count(servers.length, "MCP server")}, ${
      count(inputs.length, "input")
    }`,
  );
  const rows = servers.map((
    { name, type, state, tools, windows, documents },
  ) => [
    `${SIGNS[state] ?? "✗"} ${name}`,
    type,
    state,
    count(tools.length, "tool"),
    count(windows.length, "window"),
    count(documents.length, "document"),
  ]);
  const lines = columns(rows);
  servers.forEach(({ tools, windows, documents }, i) => {
    console.log(lines[i]);
    list("tools", tools);
    list("windows", windows);
    list("documents", documents);
  });
  for (const { id, type, used } of inputs) {
    console.log(
      `input ${plain(id)} (${type})${used ? "" : ": nobody uses it"}`,
    );
  }
  warnings.forEach((text) => console.log(`warning: ${plain(text)}`));
  problems.forEach((text) => console.log(`problem: ${plainLines(text)}`));
  if (problems.length === 0) console.log("No problem found.");
}

const SIGNS: Readonly<Record<string, string>> = { running: "✓", disabled: "-" };

function list(what: string, names: readonly string[]): void {
  if (names.length === 0) return;
  console.log(`    ${what}: ${names.map(plain).join(", ")}`);
}

const count = (number: number, what: string): string =>
  `${number} ${what}${number === 1 ? "" : "s"}`;

/** The log's lines begin with the time and the logger. */
const withoutTime = (line: string): string =>
  reasonOf(line.replace(/^.*?a2c-smcp·computer:?\s*/, ""));
