import process from "node:process";
import { StoppedError } from "../../cli/run.ts";
import { reasonOf } from "../util/values.ts";
import type { ClientProtocol } from "../../client/versions.ts";
import { PROFILES } from "../../protocol/mod.ts";
import { partsOf, ToolHost } from "../tool_host.ts";
import {
  type CheckedServer,
  checkResources,
  checkServer,
  type Findings,
  sumUp,
} from "./check_findings.ts";
import {
  type HostFlags,
  hostOptions,
  loadHostConfig,
  person,
  strayVariables,
} from "./make_computer.ts";
import { labelOf } from "./report.ts";
import { logTo } from "./logging.ts";
import { firstSignal } from "../../cli/signals.ts";
import {
  pad,
  plain,
  plainLines,
  shorten,
  textWidth,
} from "../../cli/terminal_text.ts";
import { paint, Screen } from "./screen.ts";
import type { ServerStatus } from "../host/server_status.ts";

/** The flags of `check`. */
interface CheckFlags extends HostFlags {
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
  const askInput = flags.json ? undefined : person(() => view)?.askInput;
  const tools = new ToolHost({
    inputs: config.inputs,
    servers: config.servers,
    ...hostOptions(flags),
    restart: { minDelayMs: A_DAY_MS, maxDelayMs: A_DAY_MS }, // each is started once
    oauth: { directory: flags.oauthDir, authorize: () => {} },
    ...(askInput && { askInput }),
  });
  const { protocol = "auto" } = flags;
  if (protocol !== "auto") {
    partsOf(tools).hosting.host.useBundleIds(PROFILES[protocol].bundleIds);
  }
  const found = new Map<string, CheckedServer>();
  const shown = new Set<string>();
  const show = () => {
    const { servers } = tools.status();
    for (const { bundleId } of servers) {
      const server = found.get(bundleId);
      if (!server && view.keepsOrder) return;
      if (!server || shown.has(bundleId)) continue;
      shown.add(bundleId);
      view.print(serverLines(server, servers));
    }
  };
  const ended = new AbortController();
  try {
    const signal = firstSignal();
    const servers = count(config.servers.length, "MCP server");
    const inputs = count(config.inputs.length, "input");
    view.print([`${plain(flags.config)}: ${servers}, ${inputs}`]);
    const stopped = await Promise.race([
      examine(tools, (waiting, server) => {
        if (ended.signal.aborted) return;
        if (server) found.set(server.bundleId, server);
        show();
        view.waitFor(waiting);
      }),
      signal,
    ]);
    ended.abort();
    const findings = sumUp(tools, config, found, warnings);
    if (flags.json) console.log(JSON.stringify(findings, null, 2));
    view.waitFor([]);
    view.print(lastLines(findings, tools, shown, stopped !== undefined));
    view.close();
    conclude(findings, found, stopped?.exitCode);
  } finally {
    view.close();
    await tools.close();
  }
}

/**
 * Resolves when everything is checked.
 *
 * @param settled called with the names of the pending MCP servers, and with each checked one
 */
async function examine(
  tools: ToolHost,
  settled: (waiting: readonly string[], server?: CheckedServer) => void,
): Promise<undefined> {
  const { servers } = tools.status();
  const waiting = new Map(
    servers.map((server) => [server.bundleId, labelOf(server)]),
  );
  const looks: Promise<void>[] = [];
  const lookAt = (bundleId: string) => {
    if (!waiting.delete(bundleId)) return;
    looks.push(
      checkServer(tools, bundleId)
        .then((server) => settled([...waiting.values()], server)),
    );
  };
  tools.on("serverState", ({ bundleId, state }) => {
    if (state !== "starting") lookAt(bundleId);
  });
  for (const { bundleId, state } of servers) {
    if (state === "disabled") lookAt(bundleId);
  }
  settled([...waiting.values()]);
  await tools.start();
  await Promise.all(looks);
  await checkResources(tools);
  await partsOf(tools).skills.settled();
  return undefined;
}

/** Returns the lines of servers that were not shown yet, and the summary. */
const lastLines = (
  findings: Findings,
  tools: ToolHost,
  shown: ReadonlySet<string>,
  isStopped: boolean,
): string[] => [
  ...findings.servers.filter(({ bundleId }) => !shown.has(bundleId))
    .flatMap((server) => serverLines(server, tools.status().servers)),
  ...tailLines(findings),
  ...findings.problems.length === 0 && !isStopped ? ["No problem found."] : [],
];

/** @throws {Error} when there are problems, or something was not checked */
function conclude(
  { servers, problems }: Findings,
  found: ReadonlyMap<string, CheckedServer>,
  stopped: number | undefined,
): void {
  if (stopped !== undefined) {
    const left = servers.length - found.size;
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
interface CheckView {
  /** Whether servers are shown in the order of the file instead of as they settle. */
  readonly keepsOrder: boolean;
  /** Prints lines. */
  print(lines: readonly string[]): unknown;
  /** Shows the pending servers; nothing when there are none. */
  waitFor(names: readonly string[]): void;
  /** Pauses the view while a question is asked. */
  asking<T>(question: () => Promise<T>): Promise<T>;
  /** Closes the view; printed lines stay. */
  close(): void;
}

/** Creates the view of a terminal, or one that only prints lines; with `--json`, not even those. */
function viewFor({ json }: CheckFlags): CheckView {
  const { stdout, env } = process;
  if (!json && stdout.isTTY && env.TERM !== "dumb") return liveCheckView();
  return {
    keepsOrder: true,
    print: (lines) => json || lines.forEach((line) => console.log(line)),
    waitFor: () => {},
    asking: (question) => question(),
    close: () => {},
  };
}

/** Creates a view that prints lines above a live block of the pending servers. */
function liveCheckView(): CheckView {
  const screen = new Screen(process.stdout);
  const colour = !process.env.NO_COLOR;
  const start = performance.now();
  let waiting: readonly string[] = [];
  let asked = 0;
  let frame = 0;
  let above: string[] = [];
  const draw = () => {
    if (asked > 0) return;
    const look = { columns: screen.columns, colour };
    const block = waiting.length === 0
      ? []
      : pendingBlock(waiting, frame, start);
    screen.draw(
      block.map((line) => paint([[line, "busy"]], look)),
      above.join("\n"),
    );
    above = [];
  };
  const timer = setInterval(() => {
    frame++;
    if (waiting.length > 0) draw();
  }, TICK_MS);
  return {
    keepsOrder: false,
    print: (lines) => {
      above.push(...lines);
      draw();
    },
    waitFor: (names) => {
      waiting = names;
      draw();
    },
    asking: async (question) => {
      if (asked === 0) screen.draw([]);
      asked++;
      try {
        return await question();
      } finally {
        asked--;
        draw();
      }
    },
    close: () => {
      clearInterval(timer);
      asked = 0;
      waiting = [];
      draw();
    },
  };
}

function pendingBlock(
  waiting: readonly string[],
  frame: number,
  start: number,
): string[] {
  const sign = FRAMES[frame % FRAMES.length];
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
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
    [`${SIGNS[state] ?? "✗"} ${plain(labelOf(server))}`, 2 + widest(labelOf)],
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
    `input ${plain(id)} (${type})${used ? "" : ": nobody uses it"}`
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
