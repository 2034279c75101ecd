/**
 * What the commands share: joining an office for some work, choosing the Computer, waiting with a
 * spinner, and printing.
 *
 * @module
 */
import process from "node:process";
import { clearStatus, drawStatus, print, printError } from "../../cli/print.ts";
import { SmcpAgent } from "../agent.ts";
import { explainFailure } from "../../cli/explain_failure.ts";
import { ownWords, shellWord } from "../../cli/own_command.ts";
import { shareSeat } from "./shared_seat.ts";
import { UsageError } from "../../cli/run.ts";
import { connectionOptions, type ServerFlags } from "../../cli/server_flags.ts";
import { columns, plain } from "../../cli/terminal_text.ts";
import { warningsOf } from "../../client/check_options.ts";
import { ProtocolError, type SMCPTool } from "../../protocol/mod.ts";
import { abortable } from "../../shared/async.ts";

/** Flags of all commands in an office. */
export interface OfficeFlags extends ServerFlags {
  /** The office to join. */
  office: string;
  /** Print JSON. */
  json?: boolean;
}

/** Flags of commands that may concern one Computer. */
export interface ComputerFlags extends OfficeFlags {
  /** Its name. */
  computer?: string;
}

/** Work in an office; its signal is aborted by the first Ctrl-C or SIGTERM, a second one ends the program. */
type Work<T> = (agent: SmcpAgent, signal: AbortSignal) => Promise<T>;

/**
 * Joins the office for some work, and leaves it at the end. Where the Server has the seat for MCP clients,
 * or could have, the work is done by that, and locks no client out.
 */
export const withAgent = <T>(flags: OfficeFlags, work: Work<T>): Promise<T> =>
  inOffice(flags, work, true);

/** Does work that follows notifications, for which the seat of the office is needed alone. */
export const withSeat = <T>(flags: OfficeFlags, work: Work<T>): Promise<T> =>
  inOffice(flags, work, false);

async function inOffice<T>(
  flags: OfficeFlags,
  work: Work<T>,
  mayShare: boolean,
): Promise<T> {
  const options = connectionOptions(flags);
  for (const warning of warningsOf(options)) {
    printError(`warning: ${warning}`);
  }
  let agent = new SmcpAgent(options);
  const abort = new AbortController();
  const { signal } = abort;
  let entered = false;
  const onSignal = () => {
    abort.abort(new Error("cancelled"));
    if (!entered) agent.close();
  };
  for (const name of SIGNALS) process.once(name, onSignal);
  try {
    // The seat of a Server speaks one version; a command with another one takes it.
    const isFree = (flags.protocol ?? "auto") === "auto";
    const connection = mayShare && isFree
      ? await shareSeat(options, flags.office, signal)
      : undefined;
    if (connection) agent = new SmcpAgent({ connection, name: flags.name });
    await agent.connect();
    await agent.join(flags.office);
    entered = true;
    return await work(agent, signal);
  } catch (error) {
    if (!entered) signal.throwIfAborted();
    throw error;
  } finally {
    for (const name of SIGNALS) process.off(name, onSignal);
    await agent.close();
  }
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Does some work with the Computer that was named, or the only one of the office. */
export const atComputer = <T>(
  flags: ComputerFlags,
  work: (
    agent: SmcpAgent,
    computer: string,
    signal: AbortSignal,
  ) => Promise<T>,
  within: typeof withAgent = withAgent,
): Promise<T> =>
  within(flags, async (agent, signal) => {
    const computer = await chooseComputer(agent, flags, signal);
    return await work(agent, computer, signal);
  });

/** Returns the Computer that was named, or the only one of the office. */
export async function chooseComputer(
  agent: SmcpAgent,
  flags: ComputerFlags,
  signal: AbortSignal,
): Promise<string> {
  const { computer } = flags;
  if (computer !== undefined) return computer;
  const names = (await agent.listRoom({ signal }))
    .filter(({ role }) => role === "computer").map(({ name }) => name);
  const [only, ...others] = names;
  if (only === undefined) throw noComputer(flags);
  if (others.length === 0) return only;
  const known = names.join(", ");
  throw new UsageError(
    `several Computers are in the office (${known}); choose one with --computer`,
  );
}

/** Creates the error of an office without Computers, with the remedies. */
export function noComputer({ office, url }: OfficeFlags): Error {
  const command = [
    ...ownWords("smcp-computer", process.execPath),
    "run",
    "--config",
    "computer.json",
    "--office",
    office,
    "--url",
    url,
  ].map(shellWord).join(" ");
  return new Error(
    `no Computer is in the office "${office}"; correct the name if it is misspelt, or start one with: ${command}`,
  );
}

/** Prints rows in columns. */
export const printRows = (rows: readonly (readonly string[])[]): void =>
  columns(rows).forEach(print);

/**
 * Returns the tools of every Computer in the office; prints one line to stderr for each failure.
 *
 * Call it right after the join, so that no failure is missed.
 *
 * @throws {Error} the last of those lines, when there is no Computer whose tools are known
 */
export async function officeTools(
  agent: SmcpAgent,
  signal: AbortSignal,
): Promise<Map<string, readonly SMCPTool[]>> {
  const failed = new Map<string, unknown>();
  agent.on("tools", ({ computer }) => failed.delete(computer));
  agent.on("toolsFailed", ({ computer, error }) => {
    failed.set(computer, error);
  });
  await abortable(agent.toolsSettled(), signal);
  const problems = [...failed].map(([computer, error]) =>
    plain(`Cannot get the tools of "${computer}": ${explainFailure(error)}`)
  );
  const fatal = agent.tools.size === 0 ? problems.pop() : undefined;
  problems.forEach(printError);
  if (fatal !== undefined) throw new Error(fatal);
  return new Map(agent.tools); // a copy: the catalogue is cleared when the agent leaves
}

/** Returns the name of an MCP server for people, with its id where that is something else. */
export const labelOf = (id: string, name: string = id): string =>
  id === name ? id : `${name} (${id})`;

/**
 * Returns how requests name the MCP server that a person typed: by its `bundle_id`, or its name if
 * no other one of the Computer has that (protocol §13).
 *
 * @throws {UsageError} that lists the servers of that name
 */
export async function serverMeant(
  agent: SmcpAgent,
  computer: string,
  typed: string,
  signal: AbortSignal,
): Promise<string> {
  const { servers } = await agent.getConfig(computer, { signal })
    .catch((error) => {
      if (error instanceof ProtocolError) return { servers: {} }; // asked for as it is typed
      throw error;
    });
  const named = Object.entries(servers)
    .filter(([, { name }]) => name === typed).map(([id]) => id);
  if (named.length < 2) return named[0] ?? typed;
  const labels = named.map((id) => labelOf(id, typed)).join(", ");
  throw new UsageError(
    `"${typed}" is the name of ${named.length} MCP servers of ${computer}; say which by its bundle_id: ${labels}`,
  );
}

const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const TICK_MS = 100;
/** Columns left free for `^C`, which must not wrap to a new line. */
const RESERVED_COLUMNS = 3;

/**
 * Prints to stderr what is in progress: on a terminal with the elapsed time, until the work is done,
 * else as one line.
 *
 * Does not change the cursor, so that nothing has to be restored when the program ends.
 *
 * @param what the current text; asked again for each frame
 */
export async function waitingFor<T>(
  what: () => string,
  work: Promise<T>,
): Promise<T> {
  if (!process.stderr.isTTY || process.env.TERM === "dumb") {
    printError(what());
    return await work;
  }
  const start = performance.now();
  let frame = 0;
  const draw = () => {
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    const line = `${FRAMES[frame++ % FRAMES.length]} ${seconds} s  ${what()}`;
    drawStatus(line, RESERVED_COLUMNS);
  };
  draw();
  const timer = setInterval(draw, TICK_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    clearStatus();
  }
}

/** Shortens a description to its first sentence in one line. */
export function headline(text: string): string {
  const [first = ""] = text.split(/(?<=\.)\s|\n/, 1);
  return first.length > 80 ? `${first.slice(0, 79)}…` : first;
}

/** Formats a number with its noun. */
export const count = (number: number, what: string): string =>
  `${number} ${what}${number === 1 ? "" : "s"}`;
