/**
 * Approvals from a person's devices: the Computer's side, and the only place where an answer counts.
 *
 * A device is paired with a link and six digits; then it asks for what is open, and answers. Each of its
 * messages comes through the Server, which can hold back and repeat them, but neither read nor change one.
 * The state is in three classes: the devices of the file of keys, the pairing that is open, and the
 * questions.
 *
 * @module
 */
import type { Bytes } from "../../shared/approvals/bytes.ts";
import {
  kindOf,
  plainMessage,
  readMessage,
  type Self,
  senderOf,
  writeMessage,
} from "../../shared/approvals/message.ts";
import {
  LIMITS,
  type OptionId,
  type Payloads,
  type PushSubscription,
} from "../../shared/approvals/question.ts";
import type { Confirm } from "../tools/confirm.ts";
import type { PermissionStore } from "../rules/permissions.ts";
import { log } from "../util/log.ts";
import { reasonOf } from "../util/values.ts";
import {
  type Device,
  Devices,
  type DeviceVerifier,
  type PairedDevice,
  toPaired,
} from "./devices.ts";
import { KeyFile } from "./key_file.ts";
import {
  type OpenPairing,
  Pairings,
  type PairTarget,
  waitMs,
} from "./pairings.ts";
import { Questions, type QuestionWatch } from "./questions.ts";
import { readPush } from "./saved.ts";
import { SteadyClock } from "../util/steady_clock.ts";
import { Changes, type Now } from "./time.ts";

/** What {@linkcode Approvals} need of their Computer. */
export interface ApprovalsOptions {
  /** Returns the Computer's name, which devices show. */
  readonly name: () => string;
  /** Push services that devices may name besides those of browsers. */
  readonly pushHosts?: readonly string[];
  /** Default: one that neither sleep nor a change of the date slows down. */
  readonly now?: Now;
}

/** The most messages that wait at a time: a Server passes on 16, and a lying one could repeat a poll without end. */
const MOST_PENDING = 32;

/** The devices that may answer questions of one Computer. */
export class Approvals {
  readonly #file: KeyFile;
  readonly #options: ApprovalsOptions;
  readonly #now: Now;
  readonly #devices: Devices;
  readonly #pairings: Pairings;
  readonly #changes = new Changes();
  readonly #questions: Questions;
  readonly #listeners = new Set<() => void>();
  #pending = 0;
  #isClosed = false;

  private constructor(
    file: KeyFile,
    devices: Devices,
    options: ApprovalsOptions,
  ) {
    const { name, now = new SteadyClock().now } = options;
    this.#file = file;
    this.#devices = devices;
    this.#options = options;
    this.#now = now;
    const isAnswered = () => devices.all.length > 0;
    this.#questions = new Questions({ name, isAnswered }, now, this.#changes);
    this.#pairings = new Pairings({
      self: file.self,
      devices,
      now,
      name,
      changed: () => this.#changed(),
    });
  }

  /**
   * Reads the file of keys, and locks it until `close()`; a file that does not exist is made by the first pairing.
   *
   * @throws {Error} when the file cannot be used: it names the field, the problem and the fix
   */
  static async open(
    file: string,
    options: ApprovalsOptions,
  ): Promise<Approvals> {
    const opened = await KeyFile.open(file);
    return new Approvals(opened, await Devices.of(opened), options);
  }

  /** The hash of the Computer's keys. */
  get id(): Bytes {
    return this.#file.self.id;
  }

  /** Asks the devices, for `firstAnswer()`; without an answer it waits until the signal withdraws the question. */
  readonly confirm: Confirm = (request, signal) =>
    this.#questions.ask(request, signal);

  /** Keeps permissions in the file of keys. */
  get permissions(): PermissionStore {
    return {
      read: () => this.#file.saved.permissions,
      write: (permissions) => this.#file.save({ permissions }),
    };
  }

  /** Sets what wakes the person when a question opens. */
  set watch(watch: QuestionWatch | undefined) {
    this.#questions.watch = watch;
  }

  /** Answers one request of a device; whatever is wrong with it has the same answer. */
  async handle(message: Bytes): Promise<Bytes> {
    try {
      if (this.#isClosed) throw new Error("The Computer is closed");
      if (message.length > LIMITS.requestBytes) throw new Error("Too large");
      if (this.#pending >= MOST_PENDING) throw new Error("Too many at a time");
      this.#pending++;
      return await this.#answer(message).finally(() => this.#pending--);
    } catch (error) {
      log.info("A message of a device was refused: {reason}", {
        reason: reasonOf(error),
      });
      return plainMessage("refused");
    }
  }

  /** What the Server lets devices in by, the open pairing too. */
  get verifiers(): readonly DeviceVerifier[] {
    const { verifier } = this.#pairings;
    const paired = this.#devices.all.map(({ verifier }) => verifier);
    return verifier ? [...paired, verifier] : paired;
  }

  /** Calls back when the verifiers have changed; returns what stops that. */
  onVerifiers(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => this.#listeners.delete(changed);
  }

  /**
   * Opens a pairing in place of the one that is open.
   *
   * @throws {TypeError} when no device could use the link: a page or Server without https, but on this machine
   * @throws {Error} when there are eight devices already
   */
  pair(target: PairTarget): Promise<OpenPairing> {
    return this.#pairings.open(target);
  }

  /** The paired devices, in the order in which they were paired. */
  devices(): readonly PairedDevice[] {
    return this.#devices.all.map(toPaired);
  }

  /**
   * Removes a device; from now on it counts no more.
   *
   * @param which its id, or its label
   * @returns the removed device; undefined where there is none
   * @throws {Error} when the file cannot be written: it is removed until the Computer ends
   */
  async remove(which: string): Promise<PairedDevice | undefined> {
    try {
      const device = await this.#devices.remove(which);
      return device && toPaired(device);
    } finally {
      this.#changes.report();
      this.#changed();
    }
  }

  /** The page of the last link that a device used. */
  get page(): string | undefined {
    return this.#devices.all.findLast(({ saved }) => saved.page)?.saved.page;
  }

  /** Returns the devices that can be woken. */
  subscriptions(): [device: string, push: PushSubscription][] {
    return this.#devices.all.flatMap(({ name, push }) =>
      push ? [[name, push]] : []
    );
  }

  /** Forgets how to wake a device, unless it gave another way meanwhile. */
  async forgetPush(name: string, push: PushSubscription): Promise<void> {
    const device = this.#devices.all.find((each) => each.name === name);
    if (device?.push?.endpoint !== push.endpoint) return;
    await this.#devices.setPush(device, undefined);
  }

  /** Ends the open pairing and all polls, and unlocks the file. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#pairings.close();
    this.#changes.report();
    this.#listeners.clear();
    await this.#file.close();
  }

  /** Closes it, at the end of an `await using` scope. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #answer(message: Bytes): Promise<Bytes> {
    const { pub } = this.#self;
    switch (kindOf(message)) {
      case "keys":
        return plainMessage("keys", pub.sign, pub.seal);
      case "hello":
        return await this.#pairings.hello(message);
      case "wait":
        return await this.#pairings.wait(message);
      case "poll":
        return await this.#poll(message);
      case "answer":
        return await this.#take(message);
      default:
        throw new Error("An unexpected kind");
    }
  }

  /** Answers what is open, once that is something else than what the device has. */
  async #poll(message: Bytes): Promise<Bytes> {
    const device = this.#devices.need(senderOf(message));
    const read = await readMessage(message, ["poll"], this.#self, device);
    const { nonce, have, wait, push } = pollOf(read.payload);
    this.#used(device);
    if (push !== undefined) await this.#takePush(device, push);
    this.#needLive(device); // or it would wait in vain
    if (!this.#questions.differs(have)) {
      await this.#changes.next(waitMs(wait));
    }
    this.#needLive(device);
    const news: Payloads["news"] = {
      re: nonce,
      tick: device.ticks.give(this.#now()),
      name: this.#options.name(),
      ...this.#questions.news(have),
    };
    return await writeMessage("news", news, this.#self, device);
  }

  /** Takes an answer. */
  async #take(message: Bytes): Promise<Bytes> {
    const device = this.#devices.need(senderOf(message));
    const read = await readMessage(message, ["answer"], this.#self, device);
    // From here to the end of the question nothing is awaited.
    const answer = answerOf(read.payload);
    this.#needLive(device);
    this.#used(device);
    const isFresh = device.ticks.isFresh(answer.tick, this.#now());
    const by = `on "${device.saved.label}"`;
    const said = this.#questions.answer(answer, by, isFresh);
    const { re, hash } = answer;
    const taken: Payloads["taken"] = { re, hash, said };
    return await writeMessage("taken", taken, this.#self, device);
  }

  /** @throws {Error} when the device was removed, or the Computer closed */
  #needLive(device: Device): void {
    if (this.#isClosed) throw new Error("The Computer is closed");
    this.#devices.needStill(device);
  }

  #used(device: Device): void {
    device.seen = new Date().toISOString();
    this.#pairings.used(device);
  }

  /** A device that cannot be woken is still one that can answer. */
  async #takePush(device: Device, push: unknown): Promise<void> {
    try {
      const { pushHosts = [] } = this.#options;
      await this.#devices.setPush(device, readPush(push, pushHosts));
    } catch (error) {
      log.warn('Device "{label}" cannot be woken: {reason}', {
        label: device.saved.label,
        reason: reasonOf(error),
      });
    }
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  get #self(): Self {
    return this.#file.self;
  }
}

/** The form of a poll; its sender is a device that is known, but might be of a later version. */
function pollOf(
  payload: unknown,
): { nonce: string; have: string[]; wait: unknown; push: unknown } {
  const { nonce, have, wait, push } = Object(payload);
  const isList = Array.isArray(have) &&
    have.every((each) => typeof each === "string");
  if (typeof nonce === "string" && isList) return { nonce, have, wait, push };
  throw new Error("A poll without nonce or list");
}

/** The form of an answer. */
function answerOf(payload: unknown): Payloads["answer"] {
  const { re, hash, option, reason, tick } = Object(payload);
  const texts: readonly unknown[] = [re, hash, option, tick, reason ?? ""];
  if (texts.some((text) => typeof text !== "string")) {
    throw new Error("An answer with a field that is no text");
  }
  return { re, hash, option: option as OptionId, reason, tick };
}
