/**
 * The command `pair`: shows the link of a running Computer, and asks for the digits of the device.
 *
 * @module
 */
import process from "node:process";
import { createInterface, type Interface } from "node:readline";
import { print, printStyled } from "../../../cli/print.ts";
import { StoppedError } from "../../../cli/run.ts";
import { firstSignal } from "../../../cli/signals.ts";
import { typedDigits } from "../../../shared/approvals/pairing.ts";
import type { RunningComputer } from "../../control/client.ts";
import type { PairingEnd, PairingEvent } from "../../control/messages.ts";
import {
  linkLines,
  openedLine,
  pairedLine,
  wrongLine,
} from "./pairing_text.ts";
import { qrCode } from "./qr.ts";
import { type ChoiceFlags, reached } from "./reach.ts";

/** The flags of `pair`. */
export interface PairFlags extends ChoiceFlags {
  /** The address of the page. */
  page?: string;
}

/**
 * Pairs a device with a Computer that runs.
 *
 * @throws {Error} when none runs, or it was not paired, with what to do
 * @throws {StoppedError} when it was cancelled
 */
export const pair = (flags: PairFlags): Promise<void> =>
  reached(flags, async (computer) => {
    const dialog = new Dialog(computer);
    try {
      const end = await Promise.race([
        computer.pair(flags.page, (event) => dialog.show(event)),
        dialog.cancelled,
      ]);
      await dialog.shown;
      if (end.paired === undefined) {
        throw new Error(`not paired: ${end.reason}; run pair again`);
      }
      print(pairedLine(end.paired, computer.place.name));
    } finally {
      dialog.close();
    }
  });

/** The dialogue of a pairing at this terminal. */
class Dialog {
  /** Rejects when the person or a signal cancels it. */
  readonly cancelled: Promise<PairingEnd>;
  /** What was shown so far is printed. */
  shown: Promise<void> = Promise.resolve();
  readonly #computer: RunningComputer;
  readonly #lines: Interface;
  #isShown = false;
  #isOpened = false;
  /** Whether nothing more can be typed. */
  #isEnded = false;
  #isClosed = false;
  readonly #cancel: (error: StoppedError) => void;

  constructor(computer: RunningComputer) {
    this.#computer = computer;
    const { stdin: input, stdout: output } = process;
    const terminal = input.isTTY === true && output.isTTY === true;
    this.#lines = createInterface({ input, output, terminal });
    const cancelled = Promise.withResolvers<PairingEnd>();
    this.cancelled = cancelled.promise;
    this.#cancel = cancelled.reject;
    const stop = (exitCode: number) =>
      this.#cancel(
        new StoppedError("cancelled; the link is worth nothing now", exitCode),
      );
    void firstSignal().then(({ exitCode }) => stop(exitCode));
    this.#lines.on("SIGINT", () => stop(130));
    this.#lines.on("close", () => this.#ended());
    this.#lines.on("line", (line) => this.#typed(line));
  }

  /** Shows what happens, in its order. */
  show(event: PairingEvent): void {
    this.shown = this.shown.then(() => this.#print(event));
  }

  close(): void {
    this.#isClosed = true;
    this.#lines.close();
  }

  async #print(event: PairingEvent): Promise<void> {
    switch (event.event) {
      case "link": {
        const { stdout, env } = process;
        if (stdout.isTTY) {
          const code = await qrCode(event.link, {
            columns: stdout.columns || 80,
            rows: stdout.rows || 24,
            colour: !env.NO_COLOR,
          });
          if (code !== undefined) printStyled(code);
        }
        print(linkLines(event, Date.now()).join("\n"));
        this.#isShown = true;
        return this.#isEnded ? this.#ended() : undefined;
      }
      case "opened":
        this.#isOpened = true;
        print(openedLine(event.label));
        return this.#ask();
      case "wrong":
        print(wrongLine(event.triesLeft));
        if (event.triesLeft > 0) this.#ask();
    }
  }

  /** Without digits there is no pairing. */
  #ended(): void {
    this.#isEnded = true;
    if (this.#isClosed || !this.#isShown) return; // the Computer's reason comes first
    this.#cancel(
      new StoppedError(
        "cancelled: the input has ended, so that no digits can be typed; run pair at a terminal",
        1,
      ),
    );
  }

  #ask(): void {
    this.#lines.setPrompt("Digits: ");
    this.#lines.prompt();
  }

  #typed(line: string): void {
    if (!this.#isOpened) return;
    const digits = typedDigits(line);
    if (digits !== undefined) return this.#computer.sendDigits(digits);
    print("six digits are expected; this was no try");
    this.#ask();
  }
}
