/**
 * Guards of single connections, in the order of their lives: the time until a session is open, the
 * packets before and after it, and the bytes that wait for a client that does not read.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { type Deadline, Deadlines } from "../../shared/deadlines.ts";
import {
  type ConnectionGuard,
  type CutOff,
  purposeOf,
  type WireConnection,
} from "../wire/mod.ts";
import {
  ErrorCode,
  ProtocolError,
  SMCP_NAMESPACE,
} from "../../protocol/mod.ts";
import type { AuditParty } from "../shared/audit.ts";

/** Time limits of a connection, in milliseconds from its opening. */
interface ArrivalTimes {
  /** To ask for a session. */
  readonly connectTimeoutMs: number;
  /** To get one. */
  readonly handshakeTimeoutMs: number;
}

/**
 * Closes connections that do not open a session in time, so that their slots become free.
 *
 * Engine.IO would wait half a minute for the next request of a polling client.
 */
export class Arrivals {
  readonly #times: ArrivalTimes;
  readonly #deadlines = new Deadlines();
  /** Connections that have no session yet. */
  readonly #waiting = new WeakMap<
    WireConnection,
    Deadline & { opened: number }
  >();

  constructor(times: ArrivalTimes) {
    this.#times = times;
  }

  /** Watches a connection from now on. */
  opened(connection: WireConnection): void {
    const { connectTimeoutMs, handshakeTimeoutMs } = this.#times;
    const time = Math.min(connectTimeoutMs, handshakeTimeoutMs);
    this.#watch(connection, performance.now(), time);
    connection.on("close", () => this.ended(connection));
  }

  /** Notes that a connection has asked for a session, for the first time or again. */
  asked(connection: WireConnection): void {
    const arrival = this.#waiting.get(connection);
    if (arrival === undefined) return;
    this.ended(connection);
    this.#watch(connection, arrival.opened, this.#times.handshakeTimeoutMs);
  }

  /** Stops watching a connection that has a session or is closed. */
  ended(connection: WireConnection): void {
    const arrival = this.#waiting.get(connection);
    if (arrival === undefined) return;
    this.#waiting.delete(connection);
    this.#deadlines.remove(arrival);
  }

  /** Stops watching all connections. */
  close(): void {
    this.#deadlines.clear();
  }

  #watch(
    connection: WireConnection,
    opened: number,
    milliseconds: number,
  ): void {
    const expire = () => connection.close(true);
    const arrival = { opened, due: opened + milliseconds, expire };
    this.#waiting.set(connection, arrival);
    this.#deadlines.add(arrival, performance.now());
  }
}

/** Separates the Engine.IO packets of a POST. */
const PACKET_SEPARATOR = "\u001e";

/** Maximum number of packets in a POST: Engine.IO handles all of them in one turn. */
const MAX_POST_PACKETS = 2000;

/** Maximum number of further CONNECT packets during a session; each of them is refused. */
const MAX_CONNECTS = 32;

/** Limits of what a connection may send. */
interface PacketLimits {
  /** Bytes of a packet that requests a session. */
  readonly maxConnectBytes: number;
  /** Bytes of a packet, including its attachments. */
  readonly maxMessageBytes: number;
}

/**
 * Checks the packets of one connection, over any transport: against a small budget until it has a
 * session, and then against the limits of each kind.
 */
export class SessionGuard implements ConnectionGuard {
  readonly #connection: WireConnection;
  readonly #limits: PacketLimits;
  readonly #refused: (reason: string, party: AuditParty | undefined) => void;
  #party: AuditParty | undefined;
  /** What it has sent so far, while the connection has no session. */
  #early: { packets: number; bytes: number } | undefined;
  #connects = 0;
  /** Bytes of an unfinished binary packet and its attachments so far. */
  #collected = 0;
  #isRefused = false;

  /** @param refused called once, with the reason for closing the connection */
  constructor(
    connection: WireConnection,
    limits: PacketLimits,
    refused: (reason: string, party: AuditParty | undefined) => void,
  ) {
    this.#connection = connection;
    this.#limits = limits;
    this.#refused = refused;
    this.leave();
    connection.on("close", (reason: string) => {
      if (reason === "parse error") this.refuse("not an Engine.IO packet");
    });
  }

  /** Notes that the connection has a session now, and whose it is. */
  admit(party: AuditParty): void {
    this.#party = party;
    this.#early = undefined;
    this.#connects = 0;
    this.#connection.off("packet", this.#count);
  }

  /** Notes that the connection has no session any more. */
  leave(): void {
    this.#party = undefined;
    this.#early = { packets: 0, bytes: 0 };
    this.#connection.on("packet", this.#count);
  }

  /** Returns what checks the body of a POST as it arrives: all of it is decoded in one turn. */
  watch(): (part: string | Uint8Array) => void {
    let packets = 1;
    let bytes = 0;
    return (part) => {
      if (this.#isRefused) return;
      bytes += Buffer.byteLength(part);
      if (this.#early && this.#early.bytes + bytes > this.#earlyBytes) {
        return this.refuse("a POST too large without a session");
      }
      const most = MAX_POST_PACKETS + 2; // what follows does not matter
      packets += String(part).split(PACKET_SEPARATOR, most).length - 1;
      if (packets > MAX_POST_PACKETS) {
        this.refuse(`more than ${MAX_POST_PACKETS} packets in a POST`);
      }
    };
  }

  /** Returns why the decoder must not accept a packet; `undefined` when it may. */
  judge(packet: unknown): string | undefined {
    if (this.#isRefused) return "it follows a refused packet";
    if (typeof packet !== "string") return this.#collect(sizeOf(packet));
    switch (purposeOf(packet)) {
      case "connect":
        return this.#judgeConnect(packet);
      case "disconnect":
        return undefined;
      case "binary":
        this.#collected = 0;
        return this.#collect(packet.length);
      case "other":
        return this.#early && "a packet without a session";
    }
  }

  /** Closes the connection, without waiting for queued packets to be sent. */
  refuse(reason: string): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    this.#refused(reason, this.#party);
    this.#connection.close(true);
  }

  /** Pauses or resumes reading, for the decoder. */
  hold(held: boolean): void {
    this.#connection.hold?.(held);
  }

  #judgeConnect(packet: string): string | undefined {
    const { maxConnectBytes } = this.#limits;
    const bytes = Buffer.byteLength(packet);
    if (bytes > maxConnectBytes) {
      if (packet.startsWith(CONNECT_PACKET)) this.#answer(bytes);
      return `a CONNECT of more than ${maxConnectBytes} bytes`;
    }
    if (this.#early === undefined && ++this.#connects > MAX_CONNECTS) {
      return `more than ${MAX_CONNECTS} connects`;
    }
    return undefined;
  }

  /** Sends the reason to a client whose token is too long. */
  #answer(bytes: number): void {
    const { maxConnectBytes: max } = this.#limits;
    const data = new ProtocolError(
      ErrorCode.BAD_REQUEST,
      `Invalid auth: the CONNECT packet has ${bytes} bytes, this server accepts ${max}; send less`,
    ).toPayload();
    const body = JSON.stringify({ message: data.message, data });
    this.#connection.write(`4${SMCP_NAMESPACE},${body}`);
  }

  #collect(bytes: number): string | undefined {
    if (this.#early) return "attachments without a session";
    this.#collected += bytes;
    const { maxMessageBytes: max } = this.#limits;
    return this.#collected > max
      ? `a packet of more than ${max} bytes with its attachments`
      : undefined;
  }

  readonly #count = ({ data }: { data?: unknown }): void => {
    if (this.#early === undefined) return;
    const packets = ++this.#early.packets;
    const bytes = this.#early.bytes += sizeOf(data);
    if (packets > MAX_EARLY_PACKETS) {
      this.refuse(`more than ${MAX_EARLY_PACKETS} packets without a session`);
    } else if (bytes > this.#earlyBytes) {
      this.refuse(`more than ${this.#earlyBytes} bytes without a session`);
    }
  };

  get #earlyBytes(): number {
    return earlyBytes(this.#limits.maxConnectBytes);
  }
}

/** The beginning of a packet that requests a session of the protocol's namespace. */
const CONNECT_PACKET = `0${SMCP_NAMESPACE}`;

const sizeOf = (data: unknown): number =>
  typeof data === "string" ? Buffer.byteLength(data) : lengthOf(data);

/** Maximum number of packets that a connection may send before it has a session; clients need one or two. */
const MAX_EARLY_PACKETS = 32;

/** Returns the maximum bytes that a connection may send before it has a session: enough for a few attempts. */
export const earlyBytes = (maxConnectBytes: number): number =>
  4 * maxConnectBytes;

/**
 * Disconnects a client for which more than `maxBytes` are queued (protocol §10); a single message may be
 * larger.
 *
 * Engine.IO queues without bound for a polling client that does not read, where text is counted by
 * its length. A WebSocket has a queue of its own.
 *
 * @param maxBytes `Infinity` for no limit
 * @param cut called just before the connection is closed
 */
export function guardQueue(
  connection: WireConnection,
  maxBytes: number,
  cut: CutOff,
): void {
  const limit = (): boolean => connection.limitQueue(maxBytes, cut);
  if (limit()) return; // a WebSocket never changes its transport
  connection.on("upgrade", limit);
  if (maxBytes === Infinity) return;
  // Bytes queued since the transport took its last batch, and bytes of that batch.
  let queued = 0;
  let handed = 0;
  let over = false;
  connection.on("packetCreate", ({ data }: { data?: unknown }) => {
    const size = lengthOf(data);
    const waiting = queued + (connection.isWritable ? 0 : handed);
    queued += size;
    if (over || waiting === 0 || waiting + size <= maxBytes) return;
    over = true;
    // Deferred: the code that sends this packet does not expect the connection to close meanwhile.
    queueMicrotask(() => {
      cut("queuedBytes");
      connection.close(true);
    });
  });
  connection.on("flush", () => {
    handed = queued;
    queued = 0;
  });
}

const lengthOf = (data: unknown): number =>
  typeof data === "string"
    ? data.length
    : ArrayBuffer.isView(data)
    ? data.byteLength
    : 0;
