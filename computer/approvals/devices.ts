/**
 * The paired devices: each has keys of its own, a token by which the Server lets it in, and the ticks of
 * its news.
 *
 * What a device may do is decided by whether it is in here at that moment, so a removed one counts no more
 * from the very turn on in which it was removed, whatever it had under way.
 *
 * @module
 */
import {
  type Bytes,
  fromBase64url,
  sha256,
  toBase64url,
} from "../../shared/approvals/bytes.ts";
import { deviceId, type Party } from "../../shared/approvals/message.ts";
import {
  LIMITS,
  type PushSubscription,
} from "../../shared/approvals/question.ts";
import { plainText } from "../../shared/shown_text.ts";
import type { KeyFile } from "./key_file.ts";
import type { SavedDevice } from "./saved.ts";
import { Ticks } from "./time.ts";

/** A paired device, for people. */
export interface PairedDevice {
  /** 16 bytes in base64url. */
  readonly id: string;
  /** What it calls itself, unique here. */
  readonly label: string;
  /** When it was paired, as an ISO date. */
  readonly paired: string;
  /** When it asked or answered last since this Computer started, as an ISO date. */
  readonly seen?: string;
  /** Whether it can be woken. */
  readonly isWoken: boolean;
}

/** What the Server lets a device in by: the SHA-256 of its token, in base64url. */
export interface DeviceVerifier {
  readonly id: string;
  readonly verifier: string;
}

/** A device that may ask and answer. */
export interface Device extends Party {
  /** Its id as a text. */
  readonly name: string;
  readonly saved: SavedDevice;
  readonly verifier: DeviceVerifier;
  readonly ticks: Ticks;
  /** How to wake it. */
  push: PushSubscription | undefined;
  seen: string | undefined;
}

/** The devices that may ask and answer, as their file has them. */
export class Devices {
  readonly #file: KeyFile;
  readonly #known = new Map<string, Device>();

  private constructor(file: KeyFile) {
    this.#file = file;
  }

  /** Reads the devices of a file. */
  static async of(file: KeyFile): Promise<Devices> {
    const devices = new Devices(file);
    for (const saved of file.saved.devices) {
      const device = await toDevice(saved, file.self.id);
      devices.#known.set(device.name, device);
    }
    return devices;
  }

  /** All of them, in the order in which they were paired. */
  get all(): readonly Device[] {
    return [...this.#known.values()];
  }

  /**
   * Finds the device that a message names as its sender.
   *
   * @throws {Error} when there is none
   */
  need(id: Bytes): Device {
    const device = this.#known.get(toBase64url(id));
    if (device === undefined) throw new Error("The device is not paired");
    return device;
  }

  /**
   * Makes sure that a device was not removed meanwhile.
   *
   * @throws {Error} when it was
   */
  needStill(device: Device): void {
    if (this.#known.get(device.name) === device) return;
    throw new Error("The device was removed");
  }

  /**
   * Adds a device, once it is in the file.
   *
   * @throws {Error} when its keys are not new, or the file cannot be written
   */
  async add(saved: SavedDevice): Promise<Device> {
    const label = this.#freeLabel(saved.label);
    const device = await toDevice({ ...saved, label }, this.#file.self.id);
    if (this.#known.has(device.name)) {
      throw new Error("The device has used its keys before; pair it again");
    }
    this.#known.set(device.name, device);
    try {
      await this.#save();
    } catch (error) {
      this.#known.delete(device.name);
      await this.#save().catch(() => {}); // the file has what it had
      throw error;
    }
    return device;
  }

  /** @throws {Error} when there are as many devices as there may be */
  checkRoom(): void {
    if (this.#known.size < LIMITS.devices) return;
    throw new Error(
      `There are ${LIMITS.devices} devices already; remove one with "smcp-computer devices remove NAME"`,
    );
  }

  /**
   * Removes a device, by its id or its label.
   *
   * @returns undefined where there is none
   * @throws {Error} when the file cannot be written: the device is removed until this Computer ends
   */
  async remove(which: string): Promise<Device | undefined> {
    const device = this.#known.get(which) ??
      this.all.find(({ saved }) => saved.label === which);
    if (device === undefined) return undefined;
    this.#known.delete(device.name); // first: it counts no more, even if writing fails
    await this.#save();
    return device;
  }

  /** Sets or removes how to wake a device. */
  async setPush(
    device: Device,
    push: PushSubscription | undefined,
  ): Promise<void> {
    if (JSON.stringify(device.push) === JSON.stringify(push)) return;
    device.push = push;
    await this.#save();
  }

  #save(): Promise<void> {
    return this.#file.save({
      devices: this.all.map(({ saved: { push: _, ...saved }, push }) => ({
        ...saved,
        ...(push && { push }),
      })),
    });
  }

  /** People name devices by their labels, which therefore are unique. */
  #freeLabel(wanted: string): string {
    const taken = new Set(this.all.map(({ saved }) => saved.label));
    let label = wanted;
    for (let i = 2; taken.has(label); i++) label = `${wanted} (${i})`;
    return label;
  }
}

/** Returns what a device calls itself as people can read it, and never nothing. */
export function cleanLabel(label: string): string {
  const shown = plainText(label.trim().slice(0, LIMITS.label))
    .replaceAll('"', "'");
  return [...shown].slice(0, LIMITS.label).join("") || "a device";
}

/** Returns what people see of a device. */
export const toPaired = (
  { name, saved: { label, paired }, seen, push }: Device,
): PairedDevice => ({
  id: name,
  label,
  paired,
  ...(seen !== undefined && { seen }),
  isWoken: push !== undefined,
});

async function toDevice(saved: SavedDevice, computer: Bytes): Promise<Device> {
  const pub = {
    sign: fromBase64url(saved.sign),
    seal: fromBase64url(saved.seal),
  };
  const id = await deviceId(pub, computer);
  const name = toBase64url(id);
  const verifier = await verifierOf(fromBase64url(saved.token));
  return {
    id,
    name,
    pub,
    saved,
    verifier: { id: name, verifier },
    ticks: new Ticks(),
    push: saved.push,
    seen: undefined,
  };
}

/** Returns what the Server has in place of a token. */
export const verifierOf = async (token: Bytes): Promise<string> =>
  toBase64url(await sha256(token));
