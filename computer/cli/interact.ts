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

/** How a person at a terminal is received. */
export interface InteractOptions {
  /** The office to join at once. */
  readonly office?: string;
  /** Where lines are kept. */
  readonly history: string;
  /** Keep them whole, with parameters of tools and values of inputs. */
  readonly historyValues?: boolean;
}

/** A command that is being carried out. */
interface Running {
  /** Gives it up. */
  readonly abort: AbortController;
  /** Lines that were shown meanwhile. */
  readonly noted: Set<string>;
}

/** Milliseconds that a command has to say how it ended when it is given up. */
const LAST_WORDS_MS = 1_000;

/**
 * Reads lines from a person at a terminal until they have enough, or a signal ends it.
 *
 * @param shown takes the view that shows things above the line that is typed
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
  const giveUp = () => running?.abort.abort(new Error("given up"));
  const stopListening = listen({
    interrupted: () => {
      prompt.interrupted();
      giveUp();
    },
    ended: () => {
      ended = true;
      giveUp();
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
    const { text, failed, quit } = await obey(line, context, running);
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

/** Carries a line out, or gives it up; what was shown meanwhile is not said again. */
async function obey(
  line: string,
  context: ShellContext,
  { abort: { signal }, noted }: Running,
): Promise<LineOutcome> {
  const outcome = await Promise.race([
    runLine(line, context, signal),
    givenUp(signal),
  ]);
  const news = outcome.text.split("\n").some((line) => !noted.has(line));
  return news ? outcome : { ...outcome, text: "" };
}

/** A command that Ctrl-C does not end by itself is not waited for any longer. */
const givenUp = (signal: AbortSignal): Promise<LineOutcome> =>
  new Promise((resolve) =>
    signal.addEventListener(
      "abort",
      () =>
        setTimeout(() => resolve({ text: "not waited for" }), LAST_WORDS_MS),
      { once: true },
    )
  );

/**
 * Hears of signals; SIGHUP for good, since it comes more than once when a terminal is closed.
 *
 * @returns what to call once there is nothing left to give up but the waiting for the end
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
