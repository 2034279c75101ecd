import { setTimeout } from "node:timers/promises";
import process from "node:process";
import { typedDigits } from "../../../shared/approvals/pairing.ts";
import { onAbort } from "../../../shared/async.ts";
import { plain } from "../../../cli/terminal_text.ts";
import { quoted } from "../../../shared/shown_text.ts";
import type { PairingEvent } from "../../control/messages.ts";
import { deviceLines, ruleLines } from "../control/lists.ts";
import {
  linkLines,
  openedLine,
  pairedLine,
  wrongLine,
} from "../control/pairing_text.ts";
import { qrCode } from "../control/qr.ts";
import { oneWord, type ShellCommands, type ShellContext } from "./command.ts";

/** Commands for devices that answer, and for what was allowed. */
export const APPROVAL_COMMANDS: ShellCommands = {
  "pair [page]": {
    summary: "let a phone or another machine answer questions about tool calls",
    run: async (rest, context, signal) => {
      const page = rest === "" ? undefined : oneWord(rest, "the page");
      const talk = new ShellPairing(context, signal);
      const { paired, reason } = await context.control.pair(page, talk);
      if (paired !== undefined) {
        return pairedLine(paired, context.computer.name);
      }
      throw new Error(`not paired: ${reason}; run pair again`);
    },
  },
  devices: {
    summary: "list the devices that may answer",
    run: async (_, { control }) =>
      deviceLines(await control.devices(), Date.now()).join("\n"),
  },
  "devices remove <label|id>": {
    summary: "remove a device: it cannot answer any more",
    run: async (rest, { control }) => {
      if (rest === "") throw new Error("the label or id is missing");
      return `removed ${quoted((await control.removeDevice(rest)).label)}`;
    },
  },
  rules: {
    summary:
      "list the rules about tool calls, and what was allowed beyond them",
    run: async (_, { control }) =>
      ruleLines(await control.rules(), Date.now()).join("\n"),
  },
  "rules remove <id>": {
    summary: "remove a permission: what it allowed is asked again",
    values: ({ computer }) => computer.permissions.list().map(({ id }) => id),
    run: async (rest, { control }) => {
      const { covers } = await control.removePermission(
        oneWord(rest, "the id"),
      );
      return `removed: ${plain(covers)}`;
    },
  },
};

/** How often a person is asked for what is no six digits. */
const MAX_ASKS = 5;

/** A pairing at the prompt of the shell. */
class ShellPairing {
  readonly #context: ShellContext;
  readonly #cancelled: Promise<void>;
  readonly #ready = Promise.withResolvers<string>();
  readonly #signal: AbortSignal;

  constructor(context: ShellContext, signal: AbortSignal) {
    this.#context = context;
    this.#signal = signal;
    const { promise, resolve } = Promise.withResolvers<void>();
    onAbort(signal, resolve);
    this.#cancelled = promise;
  }

  async show(event: PairingEvent): Promise<void> {
    const { note, look } = this.#context;
    switch (event.event) {
      case "link": {
        const { columns, colour } = look();
        const rows = process.stdout.rows ?? 24;
        const code = await qrCode(event.link, { columns, rows, colour });
        if (code !== undefined) note(code, true);
        return linkLines(event, Date.now()).forEach((line) => note(line));
      }
      case "opened":
        note(openedLine(event.label));
        return this.#ready.resolve(event.label);
      case "wrong":
        return note(wrongLine(event.triesLeft));
    }
  }

  async digits(): Promise<string | undefined> {
    const label = await Promise.race([this.#ready.promise, this.#cancelled]);
    const { askInput } = this.#context;
    if (label === undefined || askInput === undefined) return undefined;
    for (let asked = 0; asked < MAX_ASKS; asked++) {
      await setTimeout(0); // what was shown comes first
      const typed = await askInput({
        type: "promptString",
        id: "",
        description: `Digits that ${label} shows`,
      }, this.#signal);
      if (typed === undefined) return undefined;
      const digits = typedDigits(String(typed));
      if (digits !== undefined) return digits;
      this.#context.note("six digits are expected; this was no try");
    }
    return undefined;
  }
}
