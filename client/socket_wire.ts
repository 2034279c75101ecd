/**
 * The connection to a Server over Socket.IO: dialing with version and credentials, watching each
 * handshake, finding the Server's error behind a failed one, and a decoder that bounds what comes.
 *
 * @module
 */
import { ConnectionError, isFinal } from "./errors.ts";
import { io, type Socket } from "socket.io-client";
import { Decoder, Encoder, type Packet, PacketType } from "socket.io-parser";
import { checkAuth } from "./check_options.ts";
import { newTransports } from "./network/node_transports.ts";
import type { ClientProtocol, UrlOptions } from "./options.ts";
import type { ProxyRoute } from "./network/proxy.ts";
import { parseServerUrl } from "./server_url.ts";
import { unreachable } from "./unreachable.ts";
import type { TransportName, Transports } from "./network/web_transports.ts";
import {
  type Acked,
  BACKOFF,
  CLOSE_TIMEOUT_MS,
  type Refusal,
  type Wire,
  type WireListeners,
} from "./wire.ts";
import {
  ErrorCode,
  parseConnectError,
  ProtocolError,
  ProtocolVersionError,
} from "../protocol/errors.ts";
import type { Role } from "../protocol/payloads/offices.ts";
import { PROFILES } from "../protocol/profiles.ts";
import {
  PROTOCOL_VERSIONS,
  SMCP_NAMESPACE,
  VERSION_PARAMETER,
} from "../protocol/version.ts";
import { withTimeout } from "../shared/async.ts";
import { outlineOf } from "../shared/json/outline.ts";
import { countValues } from "../shared/json/values.ts";

/** A connection over Socket.IO, which retries by itself when no Server was reached. */
export class SocketWire implements Wire {
  readonly #dial: Dial;
  readonly #socket: Socket;
  readonly #watch: () => void;

  /** Creates a wire that is not connected. */
  constructor(target: Omit<Dial, "transports">, listeners: WireListeners) {
    this.#dial = { ...target, transports: newTransports() };
    const socket = this.#socket = dial(this.#dial);
    socket.on("connect", () => listeners.connected());
    socket.on("disconnect", (reason) => {
      // Queued packets would be sent before this client is back in its office.
      socket.sendBuffer = [];
      listeners.disconnected(reason, socket.active);
    });
    socket.on("connect_error", (error) => listeners.refused(error));
    socket.onAny((event, ...args) => {
      const { id } = socket;
      const isCurrent = () => socket.connected && socket.id === id;
      listeners.receive(String(event), args, isCurrent);
    });
    this.#watch = watchEngine(socket, listeners);
  }

  get isOpen(): boolean {
    return this.#socket.connected;
  }

  get isRetrying(): boolean {
    return this.#socket.active;
  }

  connect(): void {
    this.#socket.connect();
    this.#watch();
  }

  send(event: string, payload: object, acked?: Acked): void {
    if (acked) this.#socket.emit(event, payload, acked);
    else this.#socket.emit(event, payload);
  }

  async explain(error: unknown): Promise<Refusal> {
    const { known, cause } = await explainRefusal(this.#dial, error);
    const { options, route } = this.#dial;
    const failure = async () =>
      known ?? await unreachable(options, cause, route());
    return { known, isFinal: isFinal(known), failure };
  }

  stopRetrying(): void {
    this.#socket.io.reconnection(false);
  }

  pause(): void {
    this.#socket.disconnect();
  }

  close(): void {
    this.#socket.removeAllListeners().disconnect();
  }

  whenClosed(): Promise<void> {
    const { engine } = this.#socket.io;
    const closed = async () => {
      if (engine && engine.readyState !== "closed") {
        await new Promise((resolve) => engine.once("close", resolve));
      }
      await this.#dial.transports.ended?.();
    };
    return withTimeout(CLOSE_TIMEOUT_MS, closed).catch(() => {});
  }
}

/** Time limit for a handshake, a join or a leave. */
export const HANDSHAKE_TIMEOUT_MS = 20_000;

/** The target of a connection, with credentials. */
interface Dial {
  readonly options: UrlOptions;
  /** The route through a proxy, if there is one. */
  readonly route: () => ProxyRoute | undefined;
  /** The version of the next attempt. */
  protocol(): ClientProtocol;
  readonly credentials: (give: (auth: Record<string, unknown>) => void) => void;
  readonly transports: Transports;
}

/** Builds the `auth` of a handshake: credentials, role and instance id (protocol §9). */
export async function credentialsOf(
  { auth, role }: Pick<UrlOptions, "auth"> & { role: Role },
  instanceId: string,
): Promise<Record<string, unknown>> {
  const given = typeof auth === "function" ? await auth() : auth;
  checkAuth(given);
  return { ...given, role, instance_id: instanceId };
}

function transportsOf(
  { transports = ["polling", "websocket"] }: UrlOptions,
  protocol: ClientProtocol,
): readonly TransportName[] {
  return PROFILES[protocol].pollingFirst && !transports.includes("polling")
    ? ["polling", ...transports]
    : transports;
}

/** Creates an unconnected socket that sends the version with every request (protocol §2). */
export function dial(
  { options, credentials, protocol, route, transports }: Dial,
  names: readonly TransportName[] = transportsOf(options, protocol()),
): Socket {
  const { origin, query } = parseServerUrl(options.url);
  return io(origin + SMCP_NAMESPACE, {
    path: options.path ?? "/smcp/",
    query: { ...query, [VERSION_PARAMETER]: PROTOCOL_VERSIONS[protocol()] },
    auth: credentials,
    ...options.tls,
    ...agentOf(route()),
    ...(options.headers && { extraHeaders: options.headers }),
    transports: names.map((name) => transports[name]),
    parser: {
      Encoder: transports.encoder ?? Encoder,
      Decoder: BoundedDecoder,
    },
    forceNew: true,
    autoConnect: false,
    timeout: HANDSHAKE_TIMEOUT_MS,
    reconnectionDelay: BACKOFF.minDelayMs,
    reconnectionDelayMax: BACKOFF.maxDelayMs,
    randomizationFactor: BACKOFF.jitter,
  });
}

/** An `object`, since the type of the library allows no agent of `node:http`, which it passes on. */
const agentOf = (route: ProxyRoute | undefined): object =>
  route === undefined ? {} : { agent: route.agent };

/** WebSocket close code of a Server that cannot answer an upgrade with HTTP 400 (protocol §2). */
const VERSION_MISMATCH_CLOSE_CODE = 4900;

/**
 * Watches each handshake of a socket: for the limit that the Server announces, and for a close with
 * 4900, which Socket.IO takes for a lost connection (protocol §2, §9).
 *
 * @returns a function to call right after each `connect`
 */
function watchEngine(
  socket: Socket,
  { limited, refused }: WireListeners,
): () => void {
  const watch = () => {
    const { engine, opts } = socket.io;
    engine.once("handshake", (data) => limited(data.maxPayload));
    engine.once("close", (_reason, details) => {
      const { code }: { code?: unknown } = Object(Object(details).context);
      if (code !== VERSION_MISMATCH_CLOSE_CODE) return;
      const sent = String(opts.query?.[VERSION_PARAMETER]);
      refused(new ProtocolVersionError("unknown", sent));
    });
  };
  // The new engine exists right after this event; its handshake comes later.
  socket.io.on("reconnect_attempt", () => queueMicrotask(watch));
  return watch;
}

/**
 * Finds the Server's error behind a failed handshake (protocol §2), if there is one, and that of Socket.IO.
 *
 * A refused WebSocket hides it, and also TLS failures, so a client that uses only WebSockets
 * sends one request over polling.
 */
async function explainRefusal(
  target: Dial,
  cause: unknown,
): Promise<{ known: Refusal["known"]; cause: unknown }> {
  const known = parseConnectError(cause);
  const closed = cause instanceof ProtocolVersionError ? cause : undefined;
  const tried = target.options.transports ?? ["polling"];
  if (known || tried.includes("polling")) {
    return { known: known ?? closed, cause };
  }
  const manager = dial(target, ["polling"]).io;
  manager.reconnection(false);
  return await new Promise((resolve) => {
    manager.open((refusal) => {
      if (!refusal) manager.engine.close();
      resolve({
        known: parseConnectError(refusal) ?? closed,
        cause: refusal ?? cause,
      });
    });
  });
}

// ------------------------------------------------------------------ what comes

/** The most values of a request or a notification: those of a call's arguments. */
export const MAX_EVENT_VALUES = 100_000;
/** The most values of an answer: those of a Computer's tools; a packet does not name its sender. */
export const MAX_ANSWER_VALUES = 1_000_000;

/** Type, attachments, namespace and id of a packet; its payload follows. */
const HEAD = /^([2356])(?:(\d+)-)?(?:(\/[^,]*),)?(\d*)(?=\s*\[)/;

/**
 * Decodes packets, but none that would take too much to parse: a long one is scanned first. Of one with too
 * many values only the head is read: its event, and the id of its ack. It is passed on with an error in
 * place of its payload, so that it fails by itself: no other request, and not the connection.
 */
export class BoundedDecoder extends Decoder {
  override add(chunk: unknown): void {
    if (typeof chunk !== "string" || chunk.length <= MAX_EVENT_VALUES) {
      return super.add(chunk); // a value takes a character at least
    }
    const bounded = bound(chunk);
    if (typeof bounded === "object") {
      // Its only listener is the Manager, and this is the only event that it emits to it.
      this.emitReserved("decoded", bounded);
    } else super.add(bounded ?? chunk);
  }
}

/** @returns `undefined` for a packet that may be parsed, else what is passed on in its place */
function bound(text: string): Packet | string | undefined {
  const [head, type, attachments, nsp = "/", id = ""] = HEAD.exec(text) ?? [];
  if (head === undefined) return undefined;
  const isAnswer = type === "3" || type === "6";
  const most = isAnswer ? MAX_ANSWER_VALUES : MAX_EVENT_VALUES;
  if (countValues(text, most) <= most) return undefined;
  const [event] = isAnswer ? [] : [outlineOf(text.slice(head.length))].flat();
  // No message of the protocol has attachments; the stock decoder waits for them.
  if (attachments !== undefined) {
    return head + JSON.stringify(isAnswer ? [null] : [String(event), null]);
  }
  const why = `Cannot take ${
    event ?? "the answer"
  }: it has more than ${most} values; send less at once, or long data as one text`;
  const data = isAnswer
    ? [new ConnectionError("too_large", why)]
    : [String(event), new ProtocolError(ErrorCode.BAD_REQUEST, why)];
  return {
    type: isAnswer ? PacketType.ACK : PacketType.EVENT,
    nsp,
    data,
    ...(id !== "" && { id: Number(id) }),
  };
}
