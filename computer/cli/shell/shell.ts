import { plainStyled, print, printStyled } from "../../../cli/print.ts";
import { explainFailure } from "../../../cli/explain_failure.ts";
import { plainLines, wrap } from "../../../cli/terminal_text.ts";
import type { ShellContext } from "./command.ts";
import process from "node:process";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { dirname } from "node:path";
import { exitAtOnce, firstSignal } from "../../../cli/signals.ts";
import { logTo, logWritten, survive, toStderr } from "../logging.ts";
import {
  type ComputerFlags,
  loadHostConfig,
  makeComputer,
  person,
} from "../make_computer.ts";
import { devicesOf, openControl } from "../control/serve_control.ts";
import { report } from "../report.ts";
import { plainView, styled, type View } from "../screen.ts";
import { Prompt } from "./prompt.ts";
import {
  completeShell,
  keptLine,
  type LineOutcome,
  runLine,
} from "./run_line.ts";
import type { SmcpComputer } from "../../computer.ts";
import type { ToolCallEnded } from "../../tools/events.ts";

/** The flags of `shell`. */
interface ShellFlags extends ComputerFlags {
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
  let view: View = plainView(print);
  const devices = await devicesOf(flags, print);
  const computer = makeComputer(flags, config, () => view, { devices });
  const control = await openControl(computer, devices, flags, print);
  try {
    const calls: (ToolCallEnded & { readonly at: Date })[] = [];
    computer.on("callEnded", (call) => {
      calls.push({ ...call, at: new Date() });
      if (calls.length > MAX_CALLS) calls.shift();
    });
    const { stdout, env } = process;
    const asks = person(() => view);
    const context: ShellContext = {
      computer,
      control: control.target,
      note: (text, isStyled) =>
        view instanceof Session && isStyled
          ? view.noteStyled(text)
          : view.note(text),
      look: () => ({
        columns: stdout.isTTY ? (stdout.columns ?? 80) - 1 : Infinity,
        colour: stdout.isTTY && !env.NO_COLOR,
      }),
      calls,
      askInput: asks?.askInput,
    };
    if (asks) await interact(context, flags, (own) => view = own);
    else await obey(context, flags);
  } finally {
    await control.close();
    await computer.close();
    await devices.close();
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
    if (outcome.text !== "") printStyled(outcome.text);
    if (outcome.failed) failed++;
    if (outcome.quit || stop.signal.aborted) break;
  }
  reader.close();
  if (failed === 0) return;
  throw new Error(
    `${failed} of the commands failed; see the errors above`,
  );
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

/** How long an aborted command may take to report how it ended. */
const ABORT_GRACE_MS = 1_000;

/**
 * Runs the interactive shell until the user quits or a signal arrives.
 *
 * @param shown receives the view that prints above the input line
 */
async function interact(
  context: ShellContext,
  { office, history: file, historyValues }: ShellFlags,
  shown: (view: View) => void,
): Promise<void> {
  const { computer } = context;
  const history = await readHistory(file);
  const session = new Session(context, history);
  shown(session);
  const onInterrupt = () => session.interrupt();
  const onEnd = () => session.close();
  process.on("SIGINT", onInterrupt);
  process.on("SIGTERM", onEnd);
  process.on("SIGHUP", onEnd); // for good: closing a terminal sends it repeatedly
  computer.start();
  await logTo((line) => session.note(line));
  report(computer, (text) => session.note(text), false);
  print(`A2C-SMCP Computer "${computer.name}"; help lists the commands`);
  if (office !== undefined) {
    computer.connect().then(() => computer.join(office)).catch((error) =>
      session.note(`error: ${explainFailure(error)}`)
    );
  }
  await session.run();
  exitAtOnce(); // further signals: only cleaning up is left
  process.off("SIGINT", onInterrupt);
  process.off("SIGTERM", onEnd);
  const kept = historyValues
    ? history
    : history.flatMap((line) => keptLine(line) ?? []);
  await writeHistory(file, kept);
}

/** Runs the lines of a prompt, one at a time; prints above the line that is being typed. */
class Session implements View {
  readonly #context: ShellContext;
  readonly #prompt: Prompt;
  #isEnded = false;
  /** Aborts the running command. */
  #running: AbortController | undefined;
  /** Lines that were printed while it ran. */
  readonly #printed = new Set<string>();

  /** @param history earlier lines, the latest last; new lines are added */
  constructor(context: ShellContext, history: string[]) {
    this.#context = context;
    this.#prompt = new Prompt({
      input: process.stdin,
      output: process.stdout,
      prompt: styled("smcp> ", "bold", context.look().colour),
      completer: (line: string) => completeShell(line, context),
      history,
    });
  }

  note(text: string): void {
    if (this.#running) {
      for (const line of text.split("\n")) this.#printed.add(line);
    }
    const { columns } = this.#context.look();
    this.#prompt.print(wrap(plainLines(text), columns));
  }

  /** Prints lines with styles of ours. */
  noteStyled(text: string): void {
    this.#prompt.print(plainStyled(text));
  }

  asking<T>(question: () => Promise<T>): Promise<T> {
    return this.#prompt.pauseFor(question);
  }

  /** Aborts the running command. */
  interrupt(): void {
    this.#prompt.interrupted();
    this.#abort();
  }

  close(): void {
    this.#isEnded = true;
    this.#abort();
    this.#prompt.close();
  }

  /** Runs the lines until the user quits, or the session is closed. */
  async run(): Promise<void> {
    const { colour } = this.#context.look();
    while (!this.#isEnded) {
      const line = await this.#prompt.readLine();
      if (line === undefined) return;
      const { text, failed, quit } = await this.#runLine(line);
      // Output that was already printed is not repeated.
      const isNew = text.split("\n").some((line) => !this.#printed.has(line));
      if (text !== "" && isNew) {
        this.#prompt.print(failed ? styled(text, "bad", colour) : text);
      }
      if (quit) return;
    }
  }

  async #runLine(line: string): Promise<LineOutcome> {
    this.#printed.clear();
    this.#running = new AbortController();
    const { signal } = this.#running;
    const outcome = await Promise.race([
      runLine(line, this.#context, signal),
      aborted(signal),
    ]);
    this.#running = undefined;
    return outcome;
  }

  #abort(): void {
    this.#running?.abort(new Error("aborted"));
  }
}

/** Resolves some time after an abort, for commands that do not end on Ctrl-C. */
async function aborted(signal: AbortSignal): Promise<LineOutcome> {
  await once(signal, "abort");
  await setTimeout(ABORT_GRACE_MS);
  return { text: "aborted; it may still be running" };
}

/** Maximum number of lines in the history file. */
const MAX_LINES = 1_000;

/** Reads the history, the latest line last; empty when there is no file. */
async function readHistory(file: string): Promise<string[]> {
  await narrow(file).catch(() => {}); // the file may not exist
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "").slice(-MAX_LINES);
}

/** Writes the history, readable by its owner only; ignores failures. */
async function writeHistory(
  file: string,
  lines: readonly string[],
): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await narrow(file);
    const text = `${lines.slice(-MAX_LINES).join("\n")}\n`;
    await writeFile(file, text, { mode: 0o600 });
  } catch {
    // The next shell starts without a history.
  }
}

/** Restricts a regular file to its owner; leaves devices and the like alone. */
async function narrow(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() && found.mode & 0o077) await chmod(file, 0o600);
}
