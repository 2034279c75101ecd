import process from "node:process";
import { StoppedError } from "../../protocol/cli/run.ts";
import { reasonOf } from "../_values.ts";
import { SmcpComputer } from "../computer.ts";
import type { ComputerConfig } from "../config/parse_config.ts";
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
import { logTo } from "./logging.ts";
import { type HostFlags, person } from "./make_computer.ts";
import { firstSignal } from "./signals.ts";

/** What to check. */
export interface CheckFlags extends HostFlags {
  /** The configuration file. */
  config: string;
  /** Print JSON. */
  json?: boolean;
}

const A_DAY = 86_400_000;

/** Starts everything that a configuration names, once, and says what is there and what is wrong. */
export async function check(flags: CheckFlags): Promise<void> {
  const config = await loadHostConfig(flags.config, flags.input);
  const warnings = new Set(strayVariables(process.env, config.inputs));
  await logTo((line) => warnings.add(withoutTime(line)));
  const view = viewFor(flags);
  const { askInput } = flags.json ? {} : person(() => view);
  const computer = new SmcpComputer({
    url: "http://127.0.0.1", // is never connected to
    name: "check",
    inputs: config.inputs,
    servers: config.servers,
    inputValues: flags.input,
    maxMessageBytes: flags.maxMessage,
    restart: { first: A_DAY, most: A_DAY }, // each is started once
    oauth: { directory: flags.oauthDir, authorize: () => {} },
    ...(askInput && { askInput }),
  });
  const found = new Map<string, CheckedServer>();
  const ended = new AbortController();
  try {
    const signal = firstSignal();
    view.print([headLine(flags.config, config)]);
    const stopped = await Promise.race([
      examine(computer, config, view, found, ended.signal),
      signal,
    ]);
    ended.abort();
    const findings = sumUp(computer, config, found, warnings);
    if (flags.json) console.log(JSON.stringify(findings, null, 2));
    view.waitFor([]);
    view.print(lastLines(findings, config, found, stopped !== undefined));
    view.close();
    conclude(findings, found, stopped);
  } finally {
    view.close();
    await computer.close();
  }
}

/** JSON is all that is printed where it is asked for. */
function viewFor({ json }: CheckFlags): CheckView {
  const { stdout, env } = process;
  if (json) return plainCheckView(() => {});
  return stdout.isTTY && env.TERM !== "dumb"
    ? liveCheckView()
    : plainCheckView((line) => console.log(line));
}

/**
 * Resolves when everything was looked at; each MCP server is shown as soon as it was.
 *
 * @param found is added to
 * @param ended nothing is shown any more
 */
async function examine(
  computer: SmcpComputer,
  config: ComputerConfig,
  view: CheckView,
  found: Map<string, CheckedServer>,
  ended: AbortSignal,
): Promise<undefined> {
  const { servers } = config;
  const waiting = new Set(servers.map(({ name }) => name));
  const lookAt = async (name: string) => {
    const server = await checkServer(computer, name);
    if (!server || ended.aborted) return;
    found.set(name, server);
    view.print(serverLines(server, config));
  };
  const looks: Promise<void>[] = [];
  const settled = (name: string) => {
    if (!waiting.delete(name)) return;
    looks.push(lookAt(name));
    view.waitFor([...waiting]);
  };
  computer.on("server_state", ({ name, state }) => {
    if (state !== "starting") settled(name);
  });
  servers.filter(({ disabled }) => disabled)
    .forEach(({ name }) => settled(name));
  view.waitFor([...waiting]);
  computer.start();
  await computer.serversSettled();
  await Promise.all(looks);
  if (!ended.aborted) await checkResources(computer);
  return undefined;
}

/** What was not looked at is shown as it stands. */
const lastLines = (
  findings: Findings,
  config: ComputerConfig,
  found: ReadonlyMap<string, CheckedServer>,
  isStopped: boolean,
): string[] => [
  ...findings.servers.filter(({ name }) => !found.has(name))
    .flatMap((server) => serverLines(server, config)),
  ...tailLines(findings),
  ...findings.problems.length === 0 && !isStopped ? ["No problem found."] : [],
];

/** @throws {Error} when something is wrong, or was not looked at */
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

/** The log's lines begin with the time and the logger. */
const withoutTime = (line: string): string =>
  reasonOf(line.replace(/^.*?a2c-smcp·computer:?\s*/, ""));
