import { readFileSync } from "node:fs";
import process from "node:process";
import { secretsInClear } from "../../client/check_options.ts";
import { ownCommand, shellWord } from "../../cli/own_command.ts";
import { UsageError } from "../../cli/run.ts";
import { connectionOptions, type ServerFlags } from "../../cli/server_flags.ts";
import { SmcpAgent } from "../agent.ts";

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

/**
 * Joins the office for some work, and leaves it at the end.
 *
 * @param work gets a signal that the first Ctrl-C or SIGTERM aborts; a second one ends the program
 */
export async function withAgent<T>(
  flags: OfficeFlags,
  work: (agent: SmcpAgent, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const options = connectionOptions(
    flags,
    (file) => readFileSync(file, "utf8"),
  );
  const warning = secretsInClear(options);
  if (warning !== undefined) console.error(`warning: ${warning}`);
  const agent = new SmcpAgent(options);
  const abort = new AbortController();
  const { signal } = abort;
  let entered = false;
  const onSignal = () => {
    abort.abort(new Error("cancelled"));
    if (!entered) agent.close();
  };
  for (const name of SIGNALS) process.once(name, onSignal);
  try {
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

/** Returns the Computer that was named, or the only one of the office. */
export async function chooseComputer(
  agent: SmcpAgent,
  { computer, office }: ComputerFlags,
  signal: AbortSignal,
): Promise<string> {
  if (computer !== undefined) return computer;
  const names = (await agent.listRoom({ signal }))
    .filter(({ role }) => role === "computer").map(({ name }) => name);
  const [only, ...others] = names;
  if (only === undefined) throw noComputer(office);
  if (others.length > 0) {
    throw new UsageError(
      `several Computers are in the office (${
        names.join(", ")
      }); choose one with --computer`,
    );
  }
  return only;
}

/** Creates the error of an office without Computers, with the remedy. */
export const noComputer = (office: string): Error =>
  new Error(
    `no Computer is in the office "${office}"; start one with: ${
      ownCommand("smcp-computer", process.execPath)
    } run --office ${shellWord(office)}`,
  );

/** Prints a value as indented JSON. */
export const printJson = (value: unknown): void =>
  console.log(JSON.stringify(value, null, 2));
