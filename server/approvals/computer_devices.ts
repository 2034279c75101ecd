/**
 * The devices of one Computer, kept with its seat at the home of its office: who has which token, how much a
 * device may send, and the requests that the Computer has not answered.
 *
 * A request ends by exactly one of: the Computer's answer, the time limit, the loss of the seat, the removal
 * of the device, and its client, who is gone. Nothing of what passes is kept.
 *
 * @module
 */
import {
  DEVICE_BOUNDS,
  DEVICE_EVENT,
  type DeviceVerifier,
  ErrorCode,
  parseDeviceRet,
  ProtocolError,
} from "../../protocol/mod.ts";
import type { Deadline } from "../../shared/deadlines.ts";
import type { DeviceParts } from "../doors/approvals.ts";
import { excessOf } from "../office/call.ts";
import { noSuchDevice } from "../office/members.ts";
import type { Ack, Forget, SeatDevices, Seated } from "../office/peer.ts";
import { errorAnswer, Payload } from "../shared/payload.ts";
import type { KnownTokens } from "./known_tokens.ts";

/** The `agent` of a device's request: it is none. */
const NO_AGENT = "device";

/** How long an answer is awaited: a poll lasts 25 s. */
const ANSWER_MS = 30_000;

/** The most requests of a device at a time: a poll, and an answer. */
const MOST_OF_DEVICE = 2;

/** The most requests to a Computer at a time. */
const MOST_OF_COMPUTER = 16;

/** The most requests of a device within {@linkcode SPAN_MS}. */
const MOST_IN_SPAN = 30;
const SPAN_MS = 10_000;

/** How soon a device may try again while others of its requests are pending. */
const BUSY_MS = 1_000;

/** The least time between two lines of the audit log about a device. */
const LINE_MS = 60_000;

/** A device, with its pending requests. */
class Device {
  readonly id: string;
  readonly pending = new Set<Passing>();
  /** When its last requests came, at most {@linkcode MOST_IN_SPAN}. */
  readonly #times: number[] = [];
  #loggedAt = -Infinity;
  #omitted = 0;

  constructor(id: string) {
    this.id = id;
  }

  /** Counts a request; returns after how many ms it may come, or 0. */
  take(now: number): number {
    if (this.pending.size >= MOST_OF_DEVICE) return BUSY_MS;
    const [oldest = -Infinity] = this.#times;
    const isFull = this.#times.length >= MOST_IN_SPAN;
    if (isFull && now - oldest < SPAN_MS) return oldest + SPAN_MS - now;
    if (isFull) this.#times.shift();
    this.#times.push(now);
    return 0;
  }

  /** Returns the number of lines that were left out before this one; undefined to leave it out, too. */
  line(now: number): number | undefined {
    if (now - this.#loggedAt < LINE_MS) {
      this.#omitted++;
      return undefined;
    }
    const omitted = this.#omitted;
    this.#loggedAt = now;
    this.#omitted = 0;
    return omitted;
  }
}

/** The devices of a Computer. */
export class ComputerDevices implements SeatDevices {
  readonly host: string | undefined;
  readonly #computer: Seated;
  readonly #parts: DeviceParts;
  readonly #known: KnownTokens;
  /** By the hash of the token. */
  #devices: ReadonlyMap<string, Device> = new Map();

  /**
   * @param computer its seat
   * @param known gets the hashes of their tokens
   */
  constructor(
    computer: Seated,
    parts: DeviceParts,
    { host, known }: { host: string | undefined; known: KnownTokens },
  ) {
    this.#computer = computer;
    this.#parts = parts;
    this.#known = known;
    this.host = host;
  }

  replace(devices: readonly DeviceVerifier[]): void {
    const known = new Map([...this.#all()].map((each) => [each.id, each]));
    const former = [...this.#all()];
    this.#devices = new Map(
      devices.map(({ id, verifier }) => {
        const device = known.get(id) ?? new Device(id);
        known.set(id, device);
        this.#known.add(verifier);
        return [verifier, device] as const;
      }),
    );
    const left = new Set(this.#all());
    for (const each of former) if (!left.has(each)) endAll([each]);
  }

  pass(request: Payload, ack: Ack): Forget {
    const { verifier, body, req_id } = Object(request.peek());
    const device = this.#devices.get(verifier);
    const now = this.#parts.clock.now();
    const refused = device ? this.#judge(device, now) : noSuchDevice();
    if (device === undefined || refused !== undefined) {
      ack(errorAnswer(refused));
      return () => {};
    }
    const passing = new Passing(
      { device, computer: this.#computer, ack, began: now },
      this.#parts,
    );
    passing.send(String(body), String(req_id));
    return () => passing.forget();
  }

  end(): void {
    endAll(this.#all());
    this.#devices = new Map();
  }

  #all(): Iterable<Device> {
    return this.#devices.values();
  }

  #judge(device: Device, now: number): ProtocolError | undefined {
    const pending = [...this.#all()].reduce((n, d) => n + d.pending.size, 0);
    const retry_in_ms = pending >= MOST_OF_COMPUTER
      ? BUSY_MS
      : device.take(now);
    if (retry_in_ms === 0) return undefined;
    return new ProtocolError(
      ErrorCode.TOO_MANY_REQUESTS,
      "Too many requests of this device, or to its Computer",
      { details: { retry_in_ms } },
    );
  }
}

function endAll(devices: Iterable<Device>): void {
  for (const { pending } of devices) {
    for (const each of [...pending]) each.end(errorAnswer(noSuchDevice()));
  }
}

/** Who sends a request to whom. */
interface Passed {
  readonly device: Device;
  readonly computer: Seated;
  readonly ack: Ack;
  /** In ms of a monotonic clock. */
  readonly began: number;
}

/** A request that the Computer has not answered yet. */
class Passing implements Deadline {
  readonly due: number;
  place?: number;
  readonly #passed: Passed;
  readonly #parts: DeviceParts;
  /** Forgets it at the Computer; undefined before it was sent, and once it has ended. */
  #forget: Forget | undefined;
  /** The bytes of its body, and of that of its answer. */
  #size = 0;

  constructor(passed: Passed, parts: DeviceParts) {
    this.#passed = passed;
    this.#parts = parts;
    this.due = passed.began + ANSWER_MS;
  }

  send(body: string, req_id: string): void {
    const { device, computer, began, ack } = this.#passed;
    const request = {
      agent: NO_AGENT,
      req_id,
      computer: computer.name,
      device: device.id,
      body,
    };
    try {
      this.#forget = computer.peer.ask(
        DEVICE_EVENT,
        Payload.of(request),
        (answer) => this.end(checked(answer)),
      );
    } catch (error) {
      return ack(errorAnswer(error));
    }
    this.#size = bytesIn(body);
    device.pending.add(this);
    this.#parts.deadlines.add(this, began);
  }

  expire(): void {
    this.end(failed(ErrorCode.TIMEOUT, "The Computer did not answer in time"));
  }

  /** Its client is gone. */
  forget(): void {
    this.#finish();
  }

  /** Answers it. */
  end(answer: Payload): void {
    if (this.#finish(answer)) this.#passed.ack(answer);
  }

  /** @returns whether it had not ended */
  #finish(answer?: Payload): boolean {
    const forget = this.#forget;
    if (forget === undefined) return false;
    this.#forget = undefined;
    forget();
    this.#passed.device.pending.delete(this);
    this.#parts.deadlines.remove(this);
    const { body } = Object(answer?.peek());
    if (typeof body === "string") this.#size += bytesIn(body);
    this.#audit();
    return true;
  }

  #audit(): void {
    const { device, computer, began } = this.#passed;
    const now = this.#parts.clock.now();
    const omitted = device.line(now);
    if (omitted === undefined) return;
    this.#parts.audit({
      event: "device_asked",
      office: computer.office,
      computer: computer.name,
      device: device.id,
      bytes: this.#size,
      ms: Math.round(now - began),
      ...(omitted > 0 && { omitted }),
    });
  }
}

/** Counts the bytes of a text in base64. */
const bytesIn = (text: string): number =>
  Math.floor(text.replace(/=+$/, "").length * 3 / 4);

/** Checks what a Computer answers; an error of its own is none of a device's. */
function checked(answer: Payload | undefined): Payload {
  const isFine = answer?.isObject === true &&
    excessOf(DEVICE_BOUNDS.answer, answer) === undefined;
  try {
    if (isFine) return Payload.of({ ...parseDeviceRet(answer.parse()) });
  } catch {
    // Answered below.
  }
  return failed(ErrorCode.INTERNAL_ERROR, "The Computer's answer is invalid");
}

const failed = (code: number, message: string): Payload =>
  errorAnswer(new ProtocolError(code, message));
