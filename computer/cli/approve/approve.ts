/**
 * The command `approve`: answers the questions of Computers from a terminal on another machine.
 *
 * @module
 */
import { hostname } from "node:os";
import { print } from "../../../cli/print.ts";
import { orUsageError, UsageError } from "../../../cli/run.ts";
import { firstSignal } from "../../../cli/signals.ts";
import {
  beginPairing,
  type Pairing,
  RefusedError,
  retryMs,
} from "../../../shared/approvals/device.ts";
import {
  type PairingLink,
  readLink,
} from "../../../shared/approvals/pairing.ts";
import { LIMITS } from "../../../shared/approvals/question.ts";
import { sleep } from "../../../shared/async.ts";
import { nameText } from "../../../shared/shown_text.ts";
import { reasonOf } from "../../util/values.ts";
import { person } from "../make_computer.ts";
import type { View } from "../screen.ts";
import { Device } from "./device.ts";
import { checkAddress, httpSend, type RouteFlags } from "./http_send.ts";
import { KeptPairings } from "./kept_pairings.ts";

/** The flags of `approve`. */
export interface ApproveFlags extends RouteFlags {
  /** The file of its keys. */
  approveKeys: string;
  /** The name of a Computer to forget. */
  forget?: string;
}

/**
 * Answers for all Computers that this program is paired with, until a signal arrives.
 *
 * @param link of `smcp-computer pair`, to pair with one more
 * @throws {Error} what the user has to repair
 */
export async function approve(
  link: string | undefined,
  flags: ApproveFlags,
): Promise<void> {
  const kept = new KeptPairings(flags.approveKeys);
  if (flags.forget !== undefined) return await forget(kept, flags.forget);
  const opened = link === undefined ? undefined : openLink(link);
  const view = new LineView();
  const questions = person(() => view);
  if (questions === undefined) {
    throw new UsageError(
      "approve asks at a terminal: run it in one, without pipes",
    );
  }
  const end = new AbortController();
  const stopped = firstSignal();
  const work = async () => {
    if (opened) await kept.add(await pair(opened, flags, end.signal));
    const pairings = await kept.list();
    if (pairings.length === 0) throw new Error(HOW_TO_PAIR);
    const person = {
      confirm: questions.confirm,
      askReason: async (signal: AbortSignal) =>
        String(await questions.askInput(WHY_NOT, signal) ?? ""),
      note: (text: string) => view.note(text),
    };
    print("Waits for questions; Ctrl-C ends, and answers nothing");
    const devices = pairings.map((pairing) =>
      new Device(pairing, httpSend(pairing, flags), person).run(end.signal)
    );
    await Promise.all(devices);
    throw new Error(`no Computer takes answers from here: ${HOW_TO_PAIR}`);
  };
  try {
    await Promise.race([stopped, work()]);
    print("stopping");
  } finally {
    end.abort();
  }
}

/** Asked after a no. */
const WHY_NOT = {
  type: "promptString",
  id: "",
  description: "Why not? The model reads it; Enter alone gives no reason",
} as const;

const HOW_TO_PAIR =
  "run `smcp-computer pair` where the Computer runs, and then here: smcp-computer approve 'LINK'";

/**
 * Reads a link.
 *
 * @throws {UsageError} when it is another text, or leads to a Server that others can read and change
 */
function openLink(text: string): PairingLink {
  const link = orUsageError(() => {
    try {
      return readLink(text);
    } catch {
      throw new Error(
        "that is no link of `smcp-computer pair`; copy all of it, and put it in quotes",
      );
    }
  });
  orUsageError(() => checkAddress(link.url));
  return link;
}

/** Pairs with a Computer: shows the digits, and waits until they were typed there. */
async function pair(
  link: PairingLink,
  flags: RouteFlags,
  signal: AbortSignal,
): Promise<Pairing> {
  const place = { ...link, route: link.computer };
  const send = httpSend(place, flags);
  const label = hostname().slice(0, LIMITS.label) || "terminal";
  const begun = await beginPairing(link, send, label, true).catch((error) => {
    if (!(error instanceof RefusedError)) throw error;
    throw new Error(
      "the link was used before, or is too old; run `smcp-computer pair` again",
    );
  });
  const { digits } = begun;
  print(
    `Type these digits where \`smcp-computer pair\` runs: ${digits}\nThey are for you alone: give them to no other person`,
  );
  const end = performance.now() + LIMITS.pairMs;
  let problem = "";
  for (let failures = 0;;) {
    try {
      const pairing = await begun.paired(signal);
      print(`Paired with ${nameText(pairing.name)}`);
      return pairing;
    } catch (error) {
      const isOver = error instanceof RefusedError || performance.now() > end;
      if (isOver) throw new Error(PAIRING_ENDED);
      if (reasonOf(error) !== problem) {
        problem = reasonOf(error);
        print(`not connected, tries again: ${problem}`);
      }
      await sleep(retryMs(failures++, error), signal); // such as a lost connection: the digits stay
    }
  }
}

const PAIRING_ENDED =
  "the pairing has ended: the digits were wrong three times, five minutes are over, or it was cancelled; run `smcp-computer pair` again";

async function forget(kept: KeptPairings, name: string): Promise<void> {
  if (await kept.forget(name) === 0) {
    const names = (await kept.list()).map((each) => JSON.stringify(each.name));
    throw new Error(
      `there is no Computer ${JSON.stringify(name)} to forget; there ${
        names.length === 0 ? "is none" : `are: ${names.join(", ")}`
      }`,
    );
  }
  print(
    `Forgot ${
      nameText(name)
    }; its keys here are gone. Remove this program there, too: smcp-computer devices remove ${
      JSON.stringify(hostname().slice(0, LIMITS.label))
    }`,
  );
}

/** Prints lines, but not into a question that is shown. */
class LineView implements Pick<View, "note" | "asking"> {
  readonly #held: string[] = [];
  #open = 0;

  note(text: string): void {
    if (this.#open > 0) this.#held.push(text);
    else print(text);
  }

  async asking<T>(question: () => Promise<T>): Promise<T> {
    this.#open++;
    try {
      return await question();
    } finally {
      this.#open--;
      if (this.#open === 0) this.#held.splice(0).forEach(print);
    }
  }
}
