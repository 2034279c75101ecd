import process from "node:process";
import { explainFailure } from "../../cli/explain_failure.ts";
import { plainLines, wrap } from "../../cli/terminal_text.ts";
import { styled } from "./live/paint.ts";
import type { View } from "./live/view.ts";
import type { ShellContext } from "./shell/command.ts";
import { readHistory, writeHistory } from "./shell/history_file.ts";
import { Prompt } from "./shell/prompt.ts";
import {
  completeShell,
  keptLine,
  type LineOutcome,
  runLine,
} from "./shell/shell.ts";
import { Turns } from "./terminal/turns.ts";
import { logTo } from "./logging.ts";
import { report } from "./report.ts";
import { exitAtOnce } from "../../cli/signals.ts";

/** Options of the interactive shell. */
export interface InteractOptions {
  /** The office to join at the start. */
  readonly office?: string;
  /** The history file. */
  readonly history: string;
  /** Keep parameters of tools and values of inputs in the history. */
  readonly historyValues?: boolean;
}

/** A running command. */
interface Running {
  /** Aborts it. */
  readonly abort: AbortController;
  /** Lines that were printed while it ran. */
  readonly noted: Set<string>;
}

/** How long an aborted command may take to report how it ended. */
const ABORT_GRACE_MS = 1_000;

/**
 * Runs the interactive shell until the user quits or a signal arrives.
 *
 * @param shown receives the view that prints above the input line
 */
export async function interact(
  context: ShellContext,
  { office, history: file, historyValues }: InteractOptions,
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
  let running: Running | undefined;
  let ended = false;
  const turns = new Turns();
  const view: View = {
    note: (text) => {
      text.split("\n").forEach((line) => running?.noted.add(line));
      prompt.print(wrap(plainLines(text), look().columns));
    },
    asking: (question) => turns.take(() => prompt.pauseFor(question)),
    close: () => prompt.close(),
  };
  shown(view);
  const abort = () => running?.abort.abort(new Error("aborted"));
  const stopListening = listen({
    interrupted: () => {
      prompt.interrupted();
      abort();
    },
    ended: () => {
      ended = true;
      abort();
      prompt.close();
    },
  });
  computer.start();
  await logTo((line) => view.note(line));
  report(computer, { note: (text) => view.note(text), brief: false });
  console.log(`A2C-SMCP Computer "${computer.name}"; help lists the commands`);
  if (office !== undefined) {
    computer.connect().then(() => computer.join(office)).catch((error) =>
      view.note(`error: ${explainFailure(error)}`)
    );
  }
  while (!ended) {
    const line = await prompt.readLine();
    if (line === undefined) break;
    running = { abort: new AbortController(), noted: new Set() };
    const { text, failed, quit } = await execute(line, context, running);
    running = undefined;
    if (text !== "") prompt.print(failed ? styled(text, "bad", colour) : text);
    if (quit) break;
  }
  stopListening();
  const kept = historyValues
    ? history
    : history.flatMap((line) => keptLine(line) ?? []);
  await writeHistory(file, kept);
}

/** Executes a line until it ends or is aborted; output that was already printed is not repeated. */
async function execute(
  line: string,
  context: ShellContext,
  { abort: { signal }, noted }: Running,
): Promise<LineOutcome> {
  const outcome = await Promise.race([
    runLine(line, context, signal),
    aborted(signal),
  ]);
  const news = outcome.text.split("\n").some((line) => !noted.has(line));
  return news ? outcome : { ...outcome, text: "" };
}

/** Resolves some time after an abort, for commands that do not end on Ctrl-C. */
const aborted = (signal: AbortSignal): Promise<LineOutcome> =>
  new Promise((resolve) =>
    signal.addEventListener(
      "abort",
      () =>
        setTimeout(
          () => resolve({ text: "aborted; it may still be running" }),
          ABORT_GRACE_MS,
        ),
      { once: true },
    )
  );

/**
 * Listens for signals. The listener for SIGHUP stays, since closing a terminal sends it repeatedly.
 *
 * @returns makes further signals exit at once; call it when only cleaning up is left
 */
function listen(
  { interrupted, ended }: { interrupted: () => void; ended: () => void },
): () => void {
  process.on("SIGINT", interrupted);
  process.on("SIGTERM", ended);
  process.on("SIGHUP", ended);
  return () => {
    exitAtOnce();
    process.off("SIGINT", interrupted);
    process.off("SIGTERM", ended);
  };
}
