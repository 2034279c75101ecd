/**
 * The devices of a Computer at its Server (protocol §17): the Server gets hashes of their tokens with each
 * join and each change, and passes on what the devices send.
 *
 * The approvals themselves are loaded by commands that use them, and are known here by their form alone.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { Connection } from "../../client/connection.ts";
import {
  type DeviceVerifier,
  ErrorCode,
  parseDeviceReq,
  ProtocolError,
  SERVER_EVENTS,
  UPDATE_DEVICES_EVENT,
  type UpdateDevicesRet,
} from "../../protocol/mod.ts";
import { log } from "../util/log.ts";
import { reasonOf, toBase64 } from "../util/values.ts";

/** What a Server needs of the approvals of a Computer. */
export interface DeviceApprovals {
  /** What lets devices in. */
  readonly verifiers: readonly DeviceVerifier[];
  /** Calls back when the verifiers have changed; returns what stops that. */
  onVerifiers(changed: () => void): () => void;
  /** Answers one request of a device. */
  handle(message: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>;
}

/** Where the devices of a Computer reach it. */
interface DeviceOffice {
  readonly name: string;
  readonly url: string;
  readonly connection: Connection;
}

/** Older Servers do not answer an event that they do not know. */
const ANSWER_MS = 5_000;

/** Keeps the Server informed of the devices, and answers them. */
export class DeviceLink {
  readonly #office: DeviceOffice;
  #approvals: DeviceApprovals | undefined;
  #stop = () => {};
  /** Whether the Server has another list, once this Computer has joined. */
  #isStale = false;

  constructor(office: DeviceOffice) {
    this.#office = office;
  }

  /** Lets devices answer from now on; without an argument no more. */
  use(approvals?: DeviceApprovals): void {
    this.#stop();
    const had = this.#approvals !== undefined;
    this.#approvals = approvals;
    this.#stop = approvals?.onVerifiers(() => this.#changed()) ?? (() => {});
    if (had || approvals !== undefined) this.#changed();
  }

  /** The field of a join; none without approvals. */
  joinFields(): { devices?: readonly DeviceVerifier[] } {
    this.#isStale = false;
    return this.#approvals ? { devices: this.#approvals.verifiers } : {};
  }

  /** Sends what has changed while this Computer joined. */
  joined(): void {
    if (this.#isStale) this.#changed();
  }

  /**
   * Gives the Server the list, and makes sure that it passes on what devices send.
   *
   * @throws {Error} when it does not, or this Computer is in no office
   */
  async announce(): Promise<UpdateDevicesRet> {
    const { connection, name, url } = this.#office;
    if (!connection.joined) {
      throw new Error("This Computer is in no office; connect and join first");
    }
    this.#isStale = false;
    const devices = this.#approvals?.verifiers ?? [];
    try {
      const payload = { computer: name, devices };
      const options = { timeoutMs: ANSWER_MS };
      const { parseAnswer } = SERVER_EVENTS[UPDATE_DEVICES_EVENT];
      return parseAnswer(
        await connection.request(UPDATE_DEVICES_EVENT, payload, options),
      );
    } catch (error) {
      throw new Error(
        `The Server ${url} passes on nothing of devices (${
          reasonOf(error)
        }); its operator enables that with --approvals`,
      );
    }
  }

  /**
   * Answers what a device has sent.
   *
   * @throws {ProtocolError} 404 without approvals, 400 for another form
   */
  async answer(payload: unknown): Promise<{ body: string; req_id: string }> {
    if (this.#approvals === undefined) {
      throw new ProtocolError(
        ErrorCode.NOT_FOUND,
        "This Computer has no devices",
      );
    }
    const { body, req_id } = parseDeviceReq(payload);
    const message = new Uint8Array(Buffer.from(body, "base64"));
    return { body: toBase64(await this.#approvals.handle(message)), req_id };
  }

  #changed(): void {
    this.#isStale = true;
    if (!this.#office.connection.joined) return; // the join has the list
    this.announce().catch((error) => {
      log.info("Devices cannot answer: {reason}", { reason: reasonOf(error) });
    });
  }
}
