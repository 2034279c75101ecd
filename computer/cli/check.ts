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
import { headLine, serverLines, tailLines } from "./check_text.ts";
import { type CheckView, liveCheckView, plainCheckView } from "./check_view.ts";
import { loadHostConfig, strayVariables } from "./host_config.ts";
import { labelOf } from "./live/lines.ts";
import { logTo } from "./logging.ts";
import { type HostFlags, person, skillHome } from "./make_computer.ts";
import { firstSignal } from "../../cli/signals.ts";

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
  await logTo((line) => warnings.add(withoutTime(line)));
  const view = viewFor(flags);
  const { askInput } = flags.json ? {} : person(() => view);
  const tools = new ToolHost({
    inputs: config.inputs,
    servers: config.servers,
    inputValues: flags.input,
    ...skillHome(flags),
    maxMessageBytes: flags.maxMessage,
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
    view.print([headLine(flags.config, config)]);
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

/** Returns the view for the terminal; with `--json`, one that prints nothing. */
function viewFor({ json }: CheckFlags): CheckView {
  const { stdout, env } = process;
  if (json) return plainCheckView(() => {});
  return stdout.isTTY && env.TERM !== "dumb"
    ? liveCheckView()
    : plainCheckView((line) => console.log(line));
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

/** Removes the time and the logger from a line of the log. */
const withoutTime = (line: string): string =>
  reasonOf(line.replace(/^.*?a2c-smcp·computer:?\s*/, ""));
