import process from "node:process";
import { print, printJson } from "../../../cli/print.ts";
import { StoppedError } from "../../../cli/run.ts";
import type { ComputerConfig } from "../../config/config.ts";
import { reasonOf } from "../../util/values.ts";
import type { ClientProtocol } from "../../../client/options.ts";
import { PROFILES } from "../../../protocol/mod.ts";
import { tryLists } from "../../requests/requests.ts";
import { partsOf, ToolHost } from "../../tool_host.ts";
import {
  checked,
  type CheckedServer,
  type Findings,
  listResourceUris,
  sumUp,
} from "./findings.ts";
import {
  type HostFlags,
  hostOptions,
  loadHostConfig,
  person,
  strayVariables,
} from "../make_computer.ts";
import { serverLabel } from "../report.ts";
import { logTo } from "../logging.ts";
import { firstSignal } from "../../../cli/signals.ts";
import {
  pad,
  plain,
  plainLines,
  shorten,
  textWidth,
} from "../../../cli/terminal_text.ts";
import { LiveBlock, paint, plainView, type View } from "../screen.ts";
import type { ServerStatus } from "../../host/server_status.ts";

/** The flags of `check`. */
export interface CheckFlags extends HostFlags {
  /** The configuration file. */
  config: string;
  /** The version that tools are named for. */
  protocol?: ClientProtocol | "auto";
  /** Whether to print JSON. */
  json?: boolean;
}

const A_DAY_MS = 86_400_000;

/** Starts every MCP server of a configuration once, and reports what they offer and what is wrong. */
export async function check(flags: CheckFlags): Promise<void> {
  const config = await loadHostConfig(flags.config, flags.input);
  const warnings = new Set(strayVariables(process.env, config.inputs));
  await logTo((line) =>
    // without the time and the logger
    warnings.add(reasonOf(line.replace(/^.*?a2c-smcp·computer:?\s*/, "")))
  );
  const view = viewFor(flags);
  const tools = hostFor(flags, config, view);
  const found = new Map<string, string[]>();
  const list = new ServerList(tools, view);
  let isEnded = false;
  try {
    const signal = firstSignal();
    const servers = count(config.servers.length, "MCP server");
    const inputs = count(config.inputs.length, "input");
    const { length } = config.rules ?? [];
    const rules = length === 0 ? "" : `, ${count(length, "rule")}`;
    view.note(`${plain(flags.config)}: ${servers}, ${inputs}${rules}`);
    const stopped = await Promise.race([
      examine(tools, found, (waiting) => {
        if (isEnded) return;
        list.show(checkedSoFar(tools, found, view.keepsOrder));
        view.waitFor(waiting);
      }),
      signal,
    ]);
    isEnded = true;
    const findings = sumUp(tools, config, found, warnings);
    if (flags.json) printJson(findings);
    list.show(findings.servers);
    tailLines(findings).forEach(view.note);
    conclude(findings, found.size, stopped?.exitCode);
    view.note("No problem found.");
  } finally {
    view.close();
    await tools.close();
  }
}

/** Makes the host of a check, in which each MCP server is started once. */
export function hostFor(
  flags: CheckFlags,
  config: ComputerConfig,
  view: View,
): ToolHost {
  const askInput = flags.json ? undefined : person(() => view)?.askInput;
  const tools = new ToolHost({
    ...hostOptions(flags, config, () => {}),
    // Declared as `run` does: some offer a tool only to clients that can be asked.
    elicit: () => ({ action: "cancel" }),
    restart: { minDelayMs: A_DAY_MS, maxDelayMs: A_DAY_MS },
    ...(askInput && { askInput }),
  });
  const { protocol = "auto" } = flags;
  if (protocol !== "auto") {
    partsOf(tools).hosting.host.useBundleIds(PROFILES[protocol].bundleIds);
  }
  return tools;
}

/** Shows each MCP server once. */
class ServerList {
  readonly #host: ToolHost;
  readonly #view: CheckView;
  readonly #shown = new Set<string>();

  constructor(host: ToolHost, view: CheckView) {
    this.#host = host;
    this.#view = view;
  }

  /** Shows those that are not shown yet. */
  show(servers: readonly CheckedServer[]): void {
    const all = this.#host.status().servers;
    for (const server of servers) {
      if (this.#shown.has(server.bundleId)) continue;
      this.#shown.add(server.bundleId);
      serverLines(server, all).forEach(this.#view.note);
    }
  }
}

/**
 * Describes the servers that are checked by now.
 *
 * @param found the URIs of the checked MCP servers, by `bundle_id`
 * @param keepsOrder whether none counts that follows an unchecked one
 */
function checkedSoFar(
  host: ToolHost,
  found: ReadonlyMap<string, readonly string[]>,
  keepsOrder: boolean,
): CheckedServer[] {
  const { servers, tools } = host.status();
  const first = servers.findIndex(({ bundleId }) => !found.has(bundleId));
  const settled = keepsOrder && first >= 0 ? servers.slice(0, first) : servers;
  return settled.filter(({ bundleId }) => found.has(bundleId))
    .map((server) => checked(server, tools, found.get(server.bundleId)));
}

/**
 * Resolves when everything is checked.
 *
 * @param found receives the URIs of each checked MCP server by its `bundle_id`
 * @param settled called with the names of the pending MCP servers after each
 */
async function examine(
  tools: ToolHost,
  found: Map<string, string[]>,
  settled: (waiting: readonly string[]) => void,
): Promise<undefined> {
  const { servers } = tools.status();
  const waiting = new Map(
    servers.map((server) => [server.bundleId, serverLabel(server)]),
  );
  const checks: Promise<void>[] = [];
  const listResources = async (bundleId: string) => {
    found.set(bundleId, await listResourceUris(tools, bundleId));
    settled([...waiting.values()]);
  };
  const ended = (bundleId: string) => {
    if (waiting.delete(bundleId)) checks.push(listResources(bundleId));
  };
  tools.on("serverState", ({ bundleId, state }) => {
    if (state !== "starting") ended(bundleId);
  });
  for (const { bundleId, state } of servers) {
    if (state === "disabled") ended(bundleId);
  }
  settled([...waiting.values()]);
  await tools.start();
  await Promise.all(checks);
  await partsOf(tools).skills.settled();
  // Requested so that their problems are logged.
  await tryLists(partsOf(tools));
  return undefined;
}

/** @throws {Error} where there are problems, or something was not checked */
function conclude(
  { servers, problems }: Findings,
  found: number,
  stopped: number | undefined,
): void {
  if (stopped !== undefined) {
    const left = servers.length - found;
    throw new StoppedError(
      `stopped before everything was checked; ${left} of ${servers.length} MCP servers are not`,
      stopped,
    );
  }
  if (problems.length === 0) return;
  throw new Error(
    problems.length === 1
      ? "there is a problem; it is listed above, with its remedy"
      : `there are ${problems.length} problems; they are listed above, each with its remedy`,
  );
}

const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const TICK_MS = 100;
/** Maximum number of pending servers to show. */
const MAX_SHOWN_SERVERS = 5;

/** Shows the progress and the findings of `check`. */
interface CheckView extends View {
  /** Whether servers are shown in the order of the file instead of as they settle. */
  readonly keepsOrder: boolean;
  /** Shows the pending servers. */
  waitFor(names: readonly string[]): void;
}

/** Creates the view of a terminal, or one that only prints lines; with `--json`, not even those. */
function viewFor({ json }: CheckFlags): CheckView {
  const { stdout, env } = process;
  if (!json && stdout.isTTY && env.TERM !== "dumb") return liveCheckView();
  const printLine = (line: string) => json || print(line);
  return { ...plainView(printLine), keepsOrder: true, waitFor: () => {} };
}

/** Creates a view that prints lines above a live block of the pending servers. */
function liveCheckView(): CheckView {
  const colour = !process.env.NO_COLOR;
  const start = performance.now();
  let waiting: readonly string[] = [];
  const block = new LiveBlock(
    process.stdout,
    ({ columns }) => ({
      lines: pendingLines(waiting, performance.now() - start)
        .map((line) => paint([[line, "busy"]], { columns, colour })),
      againIn: waiting.length > 0 ? TICK_MS : undefined,
    }),
  );
  return {
    note: (text) => block.print(plainLines(text)),
    asking: (question) => block.asking(question),
    close: () => block.close(),
    keepsOrder: false,
    waitFor: (names) => {
      waiting = names;
      block.changed();
    },
  };
}

/** @param elapsed milliseconds since the start */
function pendingLines(waiting: readonly string[], elapsed: number): string[] {
  const sign = FRAMES[Math.floor(elapsed / TICK_MS) % FRAMES.length];
  const seconds = (elapsed / 1000).toFixed(1);
  const names = waiting.slice(0, MAX_SHOWN_SERVERS).map((name) =>
    shorten(plain(name), 40)
  );
  const more = waiting.length - names.length;
  return [
    ...names.map((name) => `${sign} ${name}  starting, ${seconds} s`),
    ...more > 0 ? [`  … and ${more} more`] : [],
  ];
}

/** Formats the lines of one MCP server, aligned with those of all others. */
function serverLines(
  server: CheckedServer,
  servers: readonly ServerStatus[],
): string[] {
  const { type, state, tools, windows, documents } = server;
  const widest = (textOf: (server: ServerStatus) => string) =>
    Math.max(...servers.map((each) => textWidth(plain(textOf(each)))));
  const cells: [text: string, width: number][] = [
    [
      `${SIGNS[state] ?? "✗"} ${plain(serverLabel(server))}`,
      2 + widest(serverLabel),
    ],
    [type, widest(({ type }) => type)],
    [state, widest((s) => s.state === "disabled" ? s.state : "running")],
    [count(tools.length, "tool"), "99 tools".length],
    [count(windows.length, "window"), "0 windows".length],
    [count(documents.length, "document"), 0],
  ];
  return [
    cells.map(([text, width]) => pad(text, width)).join("  ").trimEnd(),
    ...list("tools", tools),
    ...list("windows", windows),
    ...list("documents", documents),
  ];
}

/** Formats the lines about the whole configuration. */
const tailLines = (
  { inputs, skills, warnings, problems }: Findings,
): string[] => [
  ...inputs.map(({ id, type, used }) =>
    `input ${plain(id)} (${type})${used ? "" : ": unused"}`
  ),
  ...skills.length === 0
    ? []
    : [`${count(skills.length, "skill")}: ${skills.map(plain).join(", ")}`],
  ...warnings.map((text) => `warning: ${plain(text)}`),
  ...problems.map((text) => `problem: ${plainLines(text)}`),
];

const SIGNS: Readonly<Record<string, string>> = {
  running: "✓",
  disabled: "-",
  starting: "◌",
};

const list = (what: string, names: readonly string[]): string[] =>
  names.length === 0 ? [] : [`    ${what}: ${names.map(plain).join(", ")}`];

const count = (number: number, what: string): string =>
  `${number} ${what}${number === 1 ? "" : "s"}`;
