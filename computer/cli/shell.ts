import process from "node:process";
import { createInterface } from "node:readline";
import type { SmcpComputer } from "../computer.ts";
import { plainView, type View } from "./live/view.ts";
import type { ToolCallEnded } from "../tools/events.ts";
import type { ShellContext } from "./shell/command.ts";
import { runLine } from "./shell/shell.ts";
import { terminalQuestions } from "./terminal/questions.ts";
import { loadHostConfig } from "./host_config.ts";
import { interact } from "./interact.ts";
import { logTo, logWritten, survive, toStderr } from "./logging.ts";
import { type ComputerFlags, makeComputer } from "./make_computer.ts";
import { firstSignal } from "../../cli/signals.ts";

/** The flags of `shell`. */
export interface ShellFlags extends ComputerFlags {
  /** The configuration file; without one, the shell starts with no MCP servers. */
  config?: string;
  /** The office to join at once. */
  office?: string;
  /** The history file. */
  history: string;
  /** Whether the history keeps values and parameters. */
  historyValues?: boolean;
}

/** Maximum number of calls that `history` can show. */
const MAX_CALLS = 1_000;

/** Runs a Computer with commands from a terminal or, until its end, from a pipe. */
export async function shell(flags: ShellFlags): Promise<void> {
  await logTo(toStderr);
  survive();
  const config = flags.config === undefined
    ? { inputs: [], servers: [] }
    : await loadHostConfig(flags.config, flags.input);
  let view: View = plainView((text) => console.log(text));
  const computer = makeComputer(flags, config, () => view);
  try {
    const calls = recordCalls(computer);
    const { stdin, stdout, env } = process;
    const context: ShellContext = {
      computer,
      look: () => ({
        columns: stdout.isTTY ? (stdout.columns ?? 80) - 1 : Infinity,
        colour: stdout.isTTY && !env.NO_COLOR,
      }),
      calls,
      ...(stdin.isTTY && stdout.isTTY && {
        askInput: (...question) =>
          view.asking(() =>
            terminalQuestions({ input: stdin, output: stdout })
              .askInput(...question)
          ),
      }),
    };
    if (stdin.isTTY && stdout.isTTY) {
      await interact(context, flags, (own) => view = own);
    } else await obey(context, flags);
  } finally {
    await computer.close();
    await logWritten();
  }
}

/** Runs the commands from a pipe and prints only their results. */
async function obey(
  context: ShellContext,
  { office }: ShellFlags,
): Promise<void> {
  const stop = new AbortController();
  const stopped = firstSignal().then(() => stop.abort());
  await Promise.race([stopped, prepare(context.computer, office)]);
  if (stop.signal.aborted) return;
  const reader = createInterface({ input: process.stdin, terminal: false });
  stopped.then(() => reader.close());
  let failed = 0;
  for await (const line of reader) {
    const outcome = await runLine(line, context, stop.signal);
    if (outcome.text !== "") console.log(outcome.text);
    if (outcome.failed) failed++;
    if (outcome.quit || stop.signal.aborted) break;
  }
  reader.close();
  if (failed > 0) {
    throw new Error(
      `${failed} of the commands failed; what is wrong is said above`,
    );
  }
}

async function prepare(
  computer: SmcpComputer,
  office: string | undefined,
): Promise<void> {
  computer.start();
  if (office !== undefined) {
    await computer.connect();
    await computer.join(office);
  }
  await computer.serversSettled();
}

function recordCalls(
  computer: SmcpComputer,
): (ToolCallEnded & { readonly at: Date })[] {
  const calls: (ToolCallEnded & { readonly at: Date })[] = [];
  computer.on("callEnded", (call) => {
    calls.push({ ...call, at: new Date() });
    if (calls.length > MAX_CALLS) calls.shift();
  });
  return calls;
}
