import type {
  ProtocolError,
  ProtocolVersionError,
} from "../protocol/errors.ts";
import type { Notifications } from "../protocol/events.ts";
import type { ProtocolName } from "../protocol/version.ts";
import type { InProcessConnection } from "../shared/in_process.ts";
import type { NamesOf } from "../shared/checks.ts";
import { CLIENT_TLS_NAMES, type ClientTlsOptions } from "./network/tls.ts";

/** The versions that a client can speak: those with a handshake. */
export type ClientProtocol = Exclude<ProtocolName, "0.1">;

/** The credentials of a client: an API key, a token, or what else the Server asks for (protocol §10). */
export interface Credentials {
  /** The API key issued by the operator; keep it in settings or the environment, never in the source. */
  api_key?: string;
  /** A JWT or another token, without "Bearer". */
  token?: string;
  /** Further fields for the Server's authenticator. */
  [field: string]: unknown;
}

/** Options of a connection (protocol §2, §9): to a `url`, or to a Server in this process by a `connection`. */
export interface ConnectionOptions {
  /** Address of the Server, such as `https://smcp.example.com`. */
  url?: string;
  /**
   * In place of `url`: a connection to a Server in this process, from its `connect()`. Nothing is sent
   * over a network, so `name` is the only other option of those here.
   */
  connection?: InProcessConnection;
  /** The name to join offices with. */
  name: string;
  /** HTTP path of the Server's Socket.IO endpoint; default `/smcp/`. */
  path?: string;
  /**
   * The protocol version to speak; default `auto`: the newest that the Server lets in, which `GET
   * /health` lists. Where that lists none, as at other Servers: 0.2, or what a Server that refuses it
   * speaks. A connection has one version; after a loss it may be another (protocol §2).
   */
  protocol?: ClientProtocol | "auto";
  /**
   * Credentials for the Server's authenticator. A function is called at each connect and reconnect;
   * pass one if they expire, since a session ends with its credentials (protocol §10). If it throws, the
   * first connect fails; a reconnect calls it again later.
   */
  auth?: Credentials | (() => Credentials | Promise<Credentials>);
  /**
   * A client certificate, and authorities to trust, for `https:` and `wss:` URLs. For Deno and
   * Node: browsers present their own certificates, and refuse the option.
   */
  tls?: ClientTlsOptions;
  /**
   * The HTTP proxy to the Server, such as `http://user:password@proxy.example:3128`; `false`: none.
   * By default the one that the environment names, as other programs take it: `HTTPS_PROXY`,
   * `HTTP_PROXY` or `ALL_PROXY`, but not for this machine and the hosts of `NO_PROXY`. For Deno and
   * Node: browsers have settings of their own.
   */
  proxy?: string | false;
  /** Extra HTTP headers; browsers cannot send them with a WebSocket. */
  headers?: Record<string, string>;
  /**
   * Default polling with an upgrade to WebSocket, since only polling reveals the reason of a refusal everywhere (protocol §2).
   * From 0.3 on every connection begins with polling: `["websocket"]` is then `["polling", "websocket"]`.
   */
  transports?: ("polling" | "websocket")[];
}

/** The names of {@linkcode ConnectionOptions}. */
export const CONNECTION_NAMES = {
  url: true,
  connection: true,
  name: true,
  path: true,
  protocol: true,
  auth: {
    api_key: true,
    token: true,
    "*": true,
  },
  tls: CLIENT_TLS_NAMES,
  proxy: true,
  headers: true,
  transports: true,
} satisfies NamesOf<ConnectionOptions>;

/** The options of a connection over a network. */
export type UrlOptions = ConnectionOptions & { readonly url: string };

/** The events of a connection. */
export interface ConnectionEvents {
  /** The Server accepted this client, for the first time or again. */
  connected: { reconnected: boolean };
  /** The connection was lost; permanently unless `reconnecting`. */
  disconnected: { reason: string; reconnecting: boolean };
  /** This client joined an office, by a call of `join` or after a reconnect. */
  joined: { office: string; rejoined: boolean };
  /** The Server refused to let this client rejoin its office; the next attempt follows after `retryInMs`. */
  rejoinFailed: { office: string; reason: string; retryInMs: number };
  /** The Server refused this client or has an incompatible version; no reconnect follows. */
  refused: ProtocolError | ProtocolVersionError;
}

/** The events of a connection, and what its role makes events of its own of. */
export interface LinkEvents extends ConnectionEvents {
  /** A valid notification of the office. */
  notification: AnyNotification;
}

/** A notification with its payload. */
export type AnyNotification = {
  [N in keyof Notifications]: { event: N; payload: Notifications[N] };
}[keyof Notifications];

/** The state of a connection. */
export type ConnectionState =
  | "idle"
  | "connecting"
  | "connected"
  | "reconnecting"
  | "closed";

/** Answers a request of the Server; a thrown error becomes a flat error (protocol §6). */
export type RequestHandler = (
  event: string,
  payload: unknown,
) => unknown;

/** Options for a single request. */
export interface RequestOptions {
  /** Milliseconds until the request fails with `timeout`. */
  timeoutMs: number;
  /** Aborts the wait for the answer; the other side may continue. */
  signal?: AbortSignal | undefined;
  /** Receives, when it is sent, what gives it so many milliseconds from then on. */
  onSent?: ((restart: (timeoutMs: number) => void) => void) | undefined;
}
