/**
 * A Computer's side of approvals, with a clock of the test's own, and phones that are paired with it.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Bytes } from "../../../shared/approvals/bytes.ts";
import {
  beginPairing,
  type Pairing,
  poll,
  type Send,
  sendAnswer,
} from "../../../shared/approvals/device.ts";
import {
  type PairingLink,
  readLink,
} from "../../../shared/approvals/pairing.ts";
import type { OptionId } from "../../../shared/approvals/question.ts";
import * as approvals from "../../../computer/approvals/approvals.ts";
import {
  type Confirmed,
  type ConfirmRequest,
  toConfirmed,
} from "../../../computer/tools/confirm.ts";
import { confirmRequest } from "./confirm_request.ts";
import { type Scratch, scratch } from "../scratch.ts";

/** What opens approvals: the module itself, or a copy without one of its checks. */
export type ApprovalsModule = Pick<
  typeof import("../../../computer/approvals/approvals.ts"),
  "Approvals"
>;

/** Where the page and the Server of the tests are. */
export const TARGET = {
  page: "https://smcp.example/approve",
  url: "https://smcp.example",
  office: "north",
  computer: "laptop",
};

/** A question to the person, and what became of it. */
export class AskedCall {
  readonly #abort = new AbortController();
  /** Settles as the call's decision. */
  readonly answer: Promise<Confirmed>;
  /** What was decided so far. */
  given: Confirmed | undefined;
  /** The answers after the call's timeout. */
  readonly late: unknown[] = [];

  constructor(approvals: Side["approvals"], over: Partial<ConfirmRequest>) {
    const request = confirmRequest({
      late: (answer) => this.late.push(answer),
      ...over,
    });
    const answer = approvals.confirm(request, this.#abort.signal);
    this.answer = Promise.resolve(answer).then((given) => {
      const confirmed = toConfirmed(given);
      this.given = confirmed;
      return confirmed;
    });
    this.answer.catch(() => {});
  }

  /** Withdraws it. */
  end(reason: unknown): void {
    this.#abort.abort(reason);
  }
}

/** The approvals of one Computer. */
export class Side implements AsyncDisposable {
  readonly approvals: approvals.Approvals;
  readonly file: string;
  readonly #folder: Scratch;
  readonly #clock: { time: number };

  private constructor(
    folder: Scratch,
    file: string,
    approvals: Side["approvals"],
    clock: { time: number },
  ) {
    this.#folder = folder;
    this.file = file;
    this.approvals = approvals;
    this.#clock = clock;
  }

  /**
   * @param pushHosts push services besides those of browsers
   * @param keys what the file of keys has
   */
  static async open(
    { Approvals }: ApprovalsModule,
    pushHosts: readonly string[] = [],
    keys?: string,
  ): Promise<Side> {
    const folder = await scratch();
    const file = join(folder.path, "approvals.json");
    if (keys !== undefined) await writeFile(file, keys, { mode: 0o600 });
    const clock = { time: 1_000 };
    const name = () => "laptop";
    const now = () => clock.time;
    return new Side(
      folder,
      file,
      await Approvals.open(file, { name, now, pushHosts }),
      clock,
    );
  }

  /**
   * Opens the approvals of a Computer that has started again, with its phone: the same for all tests, since half of
   * the time of one would go into the pairing.
   */
  static async withPhone(
    module: ApprovalsModule,
  ): Promise<{ readonly side: Side; readonly phone: Pairing }> {
    const { keys, phone } = await (paired ??= pairOnce());
    return { side: await Side.open(module, [], keys), phone };
  }

  /** Lets time pass at the Computer. */
  pass(milliseconds: number): void {
    this.#clock.time += milliseconds;
  }

  /** Passes everything on, as an honest Server does. */
  readonly send: Send = (_token, message) => this.approvals.handle(message);

  /** Pairs a phone. */
  async pair(label = "Pixel", send: Send = this.send): Promise<Pairing> {
    const open = await this.approvals.pair(TARGET);
    const begun = await beginPairing(readLink(open.link), send, label, false);
    assertEquals(await open.type(begun.digits), "paired");
    return await begun.paired(new AbortController().signal);
  }

  /** Opens a link, for a phone that opens it. */
  async link(): Promise<PairingLink> {
    return readLink((await this.approvals.pair(TARGET)).link);
  }

  /** Asks the person whether a call may run. */
  ask(over: Partial<ConfirmRequest> = {}): AskedCall {
    return new AskedCall(this.approvals, over);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.approvals.close();
    await this.#folder[Symbol.asyncDispose]();
  }
}

let paired: ReturnType<typeof pairOnce> | undefined;

/** Pairs a phone, and keeps the file of keys. */
async function pairOnce() {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  return { phone, keys: await readFile(side.file, "utf8") };
}

/** Returns what a phone shows, once it has a number of open questions. */
export async function shownBy(phone: Pairing, send: Send, count = 1) {
  let news = await poll(phone, send);
  while (news.questions.length < count) {
    const have = news.questions.map(({ hash }) => hash);
    news = await poll(phone, send, { have, wait: 10_000 });
  }
  return news;
}

/** Answers the first question that a phone shows; returns what the Computer says. */
export async function answerBy(
  phone: Pairing,
  send: Send,
  option: OptionId = "once",
  reason?: string,
): Promise<string> {
  const { questions: [first], tick } = await shownBy(phone, send);
  assert(first);
  return await sendAnswer(phone, send, {
    hash: first.hash,
    option,
    tick,
    ...(reason !== undefined && { reason }),
  });
}

/** Catches the message that a phone sends, in place of sending it. */
export async function caught(
  work: (send: Send) => Promise<unknown>,
): Promise<Bytes> {
  const { promise, resolve } = Promise.withResolvers<Bytes>();
  const stopped = new Error("caught");
  await work((_token, message) => {
    resolve(message);
    return Promise.reject(stopped);
  }).catch((error) => {
    if (error !== stopped) throw error;
  });
  return await promise;
}
