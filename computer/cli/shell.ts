import process from "node:process";
import { createInterface } from "node:readline";
import { explainFailure } from "../../protocol/cli/explain_failure.ts";
import { plainLines, wrap } from "../../protocol/cli/terminal_text.ts";
import type { SmcpComputer } from "../computer.ts";
import { loadComputerConfig } from "../config/load_config.ts";
import { styled } from "../live/paint.ts";
import { plainView, type View } from "../live/view.ts";
import type { ToolCallEnded } from "../options.ts";
import type { ShellContext } from "../shell/command.ts";
import { readHistory, writeHistory } from "../shell/history_file.ts";
import { Prompt } from "../shell/prompt.ts";
import {
  completeShell,
  type LineOutcome,
  mayBeKept,
  runLine,
} from "../shell/shell.ts";
import { terminalQuestions } from "../terminal/questions.ts";
import { logTo, survive, toStderr } from "./logging.ts";
import { type ComputerFlags, makeComputer } from "./make_computer.ts";
import { report } from "./report.ts";
import { firstSignal } from "./signals.ts";

/** What `shell` is told on the command line. */
export interface ShellFlags extends ComputerFlags {
  /** The configuration file; without one there are no MCP servers at first. */
  config?: string;
  /** The office to join at once. */
  office?: string;
  /** Where lines are kept. */
  history: string;
}

/** How many calls `history` can show. */
const MOST_CALLS = 1_000;

/** Lets a person command a Computer, line by line; from a pipe, until its end. */
export async function shell(flags: ShellFlags): Promise<void> {
  await logTo(toStderr);
  survive();
  const config = flags.config === undefined
    ? { inputs: [], servers: [] }
    : await loadComputerConfig(flags.config);
  let view: View = plainView((text) => console.log(text));
  const computer = makeComputer(flags, config, () => view);
  try {
    computer.start();
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
  }
}

/** Reads lines from a person. */
async function interact(
  context: ShellContext,
  { office, history: file }: ShellFlags,
  shown: (view: View) => void,
): Promise<void> {
  const { computer, look } = context;
  const { colour } = look();
  const history = await readHistory(file);
  const prompt = new Prompt({
    input: process.stdin,
    output: process.stdout,
    prompt: styled("smcp> ", "bold", colour),
    complete: (line) => completeShell(line, context),
    history,
  });
  let running: { abort: AbortController; noted: Set<string> } | undefined;
  const view: View = {
    note: (text) => {
      text.split("\n").forEach((line) => running?.noted.add(line));
      prompt.print(wrap(plainLines(text), look().columns));
    },
    asking: (question) => prompt.pauseFor(question),
    close: () => prompt.close(),
  };
  shown(view);
  await logTo((line) => view.note(line));
  report(computer, { note: (text) => view.note(text), brief: false });
  let ended = false;
  const giveUp = () => running?.abort.abort(new Error("given up"));
  const onInterrupt = () => {
    prompt.interrupted();
    giveUp();
  };
  process.on("SIGINT", onInterrupt);
  const end = () => {
    ended = true;
    giveUp();
    prompt.close();
  };
  process.once("SIGTERM", end);
  process.on("SIGHUP", end); // comes more than once when a terminal is closed
  console.log(`A2C-SMCP Computer "${computer.name}"; help lists the commands`);
  if (office !== undefined) {
    joinAtOnce(computer, office).catch((error) =>
      view.note(`error: ${explainFailure(error)}`)
    );
  }
  while (!ended) {
    const line = await prompt.readLine();
    if (line === undefined) break;
    running = { abort: new AbortController(), noted: new Set() };
    const { abort: { signal }, noted } = running;
    const { text, failed, quit }: LineOutcome = await Promise.race([
      runLine(line, context, signal),
      givenUp(signal),
    ]);
    running = undefined;
    // What was told while it happened is not told again.
    const news = text.split("\n").some((line) => !noted.has(line));
    if (text !== "" && news) {
      prompt.print(failed ? styled(text, "bad", colour) : text);
    }
    if (quit) break;
  }
  process.off("SIGTERM", end);
  process.off("SIGINT", onInterrupt);
  await writeHistory(file, history.filter(mayBeKept));
}

/** A command that Ctrl-C does not end by itself is not waited for any longer. */
const givenUp = (signal: AbortSignal): Promise<LineOutcome> =>
  new Promise((resolve) =>
    signal.addEventListener(
      "abort",
      // What can be cancelled is, and says so first.
      () => setTimeout(() => resolve({ text: "not waited for" }), 1_000),
      { once: true },
    )
  );

/** Reads lines from a pipe, and shows what they come to and nothing else. */
async function obey(
  context: ShellContext,
  { office }: ShellFlags,
): Promise<void> {
  const { computer } = context;
  if (office !== undefined) await joinAtOnce(computer, office);
  await computer.serversSettled();
  const reader = createInterface({ input: process.stdin, terminal: false });
  const stop = new AbortController();
  firstSignal().then(() => {
    stop.abort();
    reader.close();
  });
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

async function joinAtOnce(
  computer: SmcpComputer,
  office: string,
): Promise<void> {
  await computer.connect();
  await computer.join(office);
}

function recordCalls(
  computer: SmcpComputer,
): (ToolCallEnded & { readonly at: Date })[] {
  const calls: (ToolCallEnded & { readonly at: Date })[] = [];
  computer.on("call_ended", (call) => {
    calls.push({ ...call, at: new Date() });
    if (calls.length > MOST_CALLS) calls.shift();
  });
  return calls;
}
