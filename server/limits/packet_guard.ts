import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Socket as Connection } from "engine.io";
import {
  ErrorCode,
  ProtocolError,
  SMCP_NAMESPACE,
} from "../../protocol/mod.ts";
import { toConnectError } from "../shared/error_payload.ts";
import type { Session } from "../shared/session.ts";
import { holdReading, type PacketGuard, purposeOf } from "../wire/mod.ts";
import { EarlyBudget } from "./early_budget.ts";

/** What Engine.IO puts between the packets of a POST. */
const PACKET_SEPARATOR = "\u001e";

/** Packets of one POST: Engine.IO reads all of them before anybody else has a turn. */
const MAX_POST_PACKETS = 2000;

/** While it has a session a connection may ask for so many others, which it never gets. */
const MAX_CONNECTS = 32;

/** How much a connection may send. */
export interface PacketLimits {
  /** Bytes of a packet that asks for a session. */
  readonly maxConnectBytes: number;
  /** Bytes of a packet with its attachments. */
  readonly maxMessageBytes: number;
}

/**
 * The packets of one connection, whatever carries them: a small budget until it has a session,
 * and then what may come of each kind.
 */
export class ConnectionGuard implements PacketGuard {
  readonly #connection: Connection;
  readonly #limits: PacketLimits;
  readonly #refused: (reason: string, session: Session | undefined) => void;
  #session: Session | undefined;
  /** There while the connection has no session. */
  #early: EarlyBudget | undefined;
  #connects = 0;
  /** Of a packet whose attachments come, and of those. */
  #collected = 0;
  #isRefused = false;

  /** @param refused told why the connection is closed, once */
  constructor(
    connection: Connection,
    limits: PacketLimits,
    refused: (reason: string, session: Session | undefined) => void,
  ) {
    this.#connection = connection;
    this.#limits = limits;
    this.#refused = refused;
    this.leave();
    connection.on("close", (reason: string) => {
      if (reason === "parse error") this.refuse("no packet of Engine.IO");
    });
  }

  /** It has a session from now on. */
  admit(session: Session): void {
    this.#session = session;
    this.#early = undefined;
    this.#connects = 0;
    this.#connection.off("packet", this.#count);
  }

  /** It has none from now on. */
  leave(): void {
    this.#session = undefined;
    this.#early = new EarlyBudget(this.#limits.maxConnectBytes);
    this.#connection.on("packet", this.#count);
  }

  /** Looks at the body of a POST as it comes: Engine.IO takes it apart at once. */
  watch(request: IncomingMessage): void {
    let packets = 1;
    let bytes = 0;
    request.on("data", (chunk: string | Buffer) => {
      if (this.#isRefused) return;
      bytes += Buffer.byteLength(chunk);
      if (this.#early !== undefined && bytes > this.#early.bytesLeft) {
        return this.refuse("a POST too large without a session");
      }
      const text = String(chunk);
      let at = text.indexOf(PACKET_SEPARATOR);
      while (at >= 0 && packets <= MAX_POST_PACKETS) {
        packets++;
        at = text.indexOf(PACKET_SEPARATOR, at + 1);
      }
      if (packets > MAX_POST_PACKETS) {
        this.refuse(`more than ${MAX_POST_PACKETS} packets in a POST`);
      }
    });
  }

  /** For the decoder. */
  judge(packet: unknown): string | undefined {
    if (this.#isRefused) return "it came behind a refused packet";
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

  /** Closes the connection, without waiting for what it has not read. */
  refuse(reason: string): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    this.#refused(reason, this.#session);
    this.#connection.close(true);
  }

  /** For the decoder. */
  hold(held: boolean): void {
    holdReading(this.#connection, held);
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

  /** A client whose token is too long should hear why it cannot connect. */
  #answer(bytes: number): void {
    const { maxConnectBytes: max } = this.#limits;
    const { message, data } = toConnectError(
      new ProtocolError(
        ErrorCode.BAD_REQUEST,
        `Invalid auth: it makes a CONNECT of ${bytes} bytes, this server takes ${max}; send less`,
      ),
    );
    const body = JSON.stringify({ message, data });
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
    const fault = this.#early?.take(sizeOf(data));
    if (fault !== undefined) this.refuse(fault);
  };
}

/** What a packet that asks for a session of the protocol begins with. */
const CONNECT_PACKET = `0${SMCP_NAMESPACE}`;

const sizeOf = (data: unknown): number =>
  typeof data === "string" || data instanceof Uint8Array
    ? Buffer.byteLength(data)
    : 0;
