/**
 * The devices that answer for a Computer of a command. What they need is loaded where there is a file of
 * their keys, and else with the first `pair`.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Approvals } from "../../approvals/approvals.ts";
import type { Waker } from "../../approvals/waker.ts";
import { officeLinkOf, type SmcpComputer } from "../../computer.ts";
import type { PermissionStore } from "../../rules/permissions.ts";
import { partsOf } from "../../tool_host.ts";
import type { Confirm } from "../../tools/confirm.ts";
import { reasonOf } from "../../util/values.ts";
import { fileErrorCode } from "../../../cli/explain_failure.ts";
import { onAbort } from "../../../shared/async.ts";

/** Where a Computer is to be; each place has keys of its own. */
export interface KeyPlace {
  /** The folder of the keys of this user's Computers. */
  readonly folder: string;
  /** The address of the Server, or what names it. */
  readonly url: string;
  readonly office: string;
  /** The Computer's name. */
  readonly name: string;
}

/** Returns the file of keys of a Computer. */
export function keyFileOf({ folder, url, office, name }: KeyPlace): string {
  const place = JSON.stringify([url, office, name]);
  const hash = createHash("sha256").update(place).digest("hex").slice(0, 16);
  const shown = name.toLowerCase().replaceAll(/[^a-z\d]+/g, "-").slice(0, 32);
  return join(folder, `${shown}-${hash}.json`);
}

/** How a person is woken, beside the devices that can be. */
export interface WakingOptions {
  /** Where one sentence is posted to. */
  readonly notifyUrl?: URL | undefined;
  /** Push services besides those of browsers. */
  readonly pushHosts?: readonly string[] | undefined;
}

/** A question that is open while there are no devices. */
interface Waiting {
  readonly id: string;
  readonly ask: (approvals: Approvals) => void;
}

/** The devices of a Computer, which may be paired later. */
export class PersonsDevices {
  readonly #file: string;
  readonly #name: () => string;
  readonly #wakingOptions: WakingOptions;
  readonly #waiting = new Set<Waiting>();
  #loading: Promise<Approvals> | undefined;
  #approvals: Approvals | undefined;
  #waker: Waker | undefined;
  #computer: SmcpComputer | undefined;

  /**
   * @param file of the keys, which need not exist
   * @param name returns the Computer's name, which devices show
   */
  constructor(file: string, name: () => string, waking: WakingOptions = {}) {
    this.#file = file;
    this.#name = name;
    this.#wakingOptions = waking;
  }

  /** Whether devices were paired before. */
  get isKept(): boolean {
    return this.#approvals !== undefined || lookFor(this.#file) === true;
  }

  /** Why it is unknown whether there are devices: Deno does not permit to look. */
  get problem(): string | undefined {
    const found = lookFor(this.#file);
    return typeof found === "string" ? found : undefined;
  }

  /** The approvals, where they are loaded. */
  get loaded(): Approvals | undefined {
    return this.#approvals;
  }

  /** Asks the devices, also those that are paired while the question is open. */
  readonly confirm: Confirm = (request, signal) => {
    if (this.#approvals) return this.#approvals.confirm(request, signal);
    const { promise, resolve } = Promise.withResolvers<
      Awaited<ReturnType<Confirm>>
    >();
    const waiting = {
      id: crypto.randomUUID(),
      ask: (approvals: Approvals) =>
        resolve(approvals.confirm(request, signal)),
    };
    this.#waiting.add(waiting);
    this.#waker?.asked(waiting.id, request.leftMs);
    onAbort(signal, () => {
      this.#waiting.delete(waiting);
      this.#waker?.answered(waiting.id);
      resolve("no"); // which is not read any more
    });
    return promise;
  };

  /** Keeps permissions beside the keys, once there are some. */
  readonly permissions: PermissionStore = {
    read: () => this.#approvals?.permissions.read() ?? [],
    write: (all) => this.#approvals?.permissions.write(all),
  };

  /**
   * Loads what devices need; the file is locked from then on.
   *
   * @throws {Error} when the file cannot be used, with what to do
   */
  load(): Promise<Approvals> {
    return this.#loading ??= this.#load().catch((error) => {
      this.#loading = undefined;
      throw error;
    });
  }

  /** Begins to wake the person, where there is a way without devices. */
  async wake(): Promise<void> {
    const { notifyUrl: url } = this.#wakingOptions;
    if (url === undefined) return;
    const { NotifyChannel } = await import("../../approvals/notify.ts");
    const name = this.#name();
    const page = () => this.#approvals?.page;
    (await this.#makeWaker()).use(new NotifyChannel({ url, name, page }));
  }

  /** Lets the devices of a Computer reach it, from now on or once there are some. */
  serve(computer: SmcpComputer): void {
    this.#computer = computer;
    if (this.#approvals) this.#connect(computer, this.#approvals);
  }

  /** Unlocks the file. */
  async close(): Promise<void> {
    this.#waker?.[Symbol.dispose]();
    const approvals = await this.#loading?.catch(() => undefined);
    await approvals?.close();
  }

  async #load(): Promise<Approvals> {
    const { Approvals } = await import("../../approvals/approvals.ts");
    const { pushHosts = [] } = this.#wakingOptions;
    const approvals = await Approvals.open(this.#file, {
      name: this.#name,
      pushHosts,
    });
    await this.#wakeDevices(approvals, pushHosts);
    this.#approvals = approvals;
    if (this.#computer) this.#connect(this.#computer, approvals);
    for (const { id, ask } of this.#waiting) {
      this.#waker?.answered(id);
      ask(approvals);
    }
    this.#waiting.clear();
    return approvals;
  }

  async #wakeDevices(
    approvals: Approvals,
    hosts: readonly string[],
  ): Promise<void> {
    const { PushChannel } = await import("../../approvals/push.ts");
    const waker = await this.#makeWaker();
    waker.use(
      new PushChannel({
        name: this.#name(),
        id: approvals.id,
        hosts,
        subscriptions: () => approvals.subscriptions(),
        forget: (device, push) => approvals.forgetPush(device, push),
      }),
    );
    approvals.watch = waker;
  }

  async #makeWaker(): Promise<Waker> {
    const { Waker } = await import("../../approvals/waker.ts");
    return this.#waker ??= new Waker();
  }

  #connect(computer: SmcpComputer, approvals: Approvals): void {
    officeLinkOf(computer).devices.use(approvals);
    // Where no person could be asked before.
    partsOf(computer).calls.confirmations.askWith(this.confirm);
  }
}

/** Returns whether a file exists, or why Deno does not permit to look. */
function lookFor(file: string): boolean | string {
  try {
    return existsSync(file);
  } catch (error) {
    if (fileErrorCode(error) === "NotCapable") return reasonOf(error);
    throw error;
  }
}
