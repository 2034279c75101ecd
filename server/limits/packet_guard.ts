import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Socket as Connection } from "engine.io";
import {
  ErrorCode,
  ProtocolError,
  SMCP_NAMESPACE,
} from "../../protocol/mod.ts";
import { toConnectError } from "../shared/error_payload.ts";
import type { AuditParty } from "../shared/audit.ts";
import { holdReading, type PacketGuard, purposeOf } from "../wire/mod.ts";
import { EarlyBudget } from "./early_budget.ts";

/** Separates the Engine.IO packets of a POST. */
const PACKET_SEPARATOR = "\u001e";

/** Maximum number of packets in a POST: Engine.IO handles all of them in one turn. */
const MAX_POST_PACKETS = 2000;

/** Maximum number of further CONNECT packets during a session; each of them is refused. */
const MAX_CONNECTS = 32;

/** Limits of what a connection may send. */
export interface PacketLimits {
  /** Bytes of a packet that requests a session. */
  readonly maxConnectBytes: number;
  /** Bytes of a packet, including its attachments. */
  readonly maxMessageBytes: number;
}

/**
 * Checks the packets of one connection, over any transport: against a small budget until it has a
 * session, and then against the limits of each kind.
 */
export class ConnectionGuard implements PacketGuard {
  readonly #connection: Connection;
  readonly #limits: PacketLimits;
  readonly #refused: (reason: string, party: AuditParty | undefined) => void;
  #party: AuditParty | undefined;
  /** Set while the connection has no session. */
  #early: EarlyBudget | undefined;
  #connects = 0;
  /** Bytes of an unfinished binary packet and its attachments so far. */
  #collected = 0;
  #isRefused = false;

  /** @param refused called once, with the reason for closing the connection */
  constructor(
    connection: Connection,
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
    this.#early = new EarlyBudget(this.#limits.maxConnectBytes);
    this.#connection.on("packet", this.#count);
  }

  /** Checks the body of a POST as it arrives: Engine.IO decodes all of it in one turn. */
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

  /** Sends the reason to a client whose token is too long. */
  #answer(bytes: number): void {
    const { maxConnectBytes: max } = this.#limits;
    const { message, data } = toConnectError(
      new ProtocolError(
        ErrorCode.BAD_REQUEST,
        `Invalid auth: the CONNECT packet has ${bytes} bytes, this server accepts ${max}; send less`,
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

/** The beginning of a packet that requests a session of the protocol's namespace. */
const CONNECT_PACKET = `0${SMCP_NAMESPACE}`;

const sizeOf = (data: unknown): number =>
  typeof data === "string" || data instanceof Uint8Array
    ? Buffer.byteLength(data)
    : 0;
