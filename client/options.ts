import type { ProtocolVersionError } from "../protocol/errors/connect_error.ts";
import type { ProtocolError } from "../protocol/errors/protocol_error.ts";
import type { Notifications } from "../protocol/events.ts";
import type { ClientTlsOptions } from "./tls/tls.ts";

/** A Server's API key for this client. */
export interface ApiKeyCredentials {
  /** As issued by the operator; keep it in settings or the environment, never in the source. */
  api_key: string;
  /** What the Server's authenticator wants beside it. */
  [field: string]: unknown;
}

/** A JWT, or whatever else a Server takes for a token. */
export interface TokenCredentials {
  /** Without "Bearer". */
  token: string;
  /** What the Server's authenticator wants beside it. */
  [field: string]: unknown;
}

/** What an authenticator of the operator's own asks for. */
export interface OtherCredentials {
  /** There is none. */
  api_key?: never;
  /** There is none. */
  token?: never;
  /** Whatever it is. */
  [field: string]: unknown;
}

/** The credentials of a client (spec §10). */
export type Credentials =
  | ApiKeyCredentials
  | TokenCredentials
  | OtherCredentials;

/** Options of a connection (spec §2, §9). */
export interface ConnectionOptions {
  /** Address of the Server, such as `https://smcp.example.com`. */
  url: string;
  /** The name to join offices with. */
  name: string;
  /** HTTP path of the Server's Socket.IO endpoint; default `/smcp/`. */
  path?: string;
  /**
   * Credentials for the Server's authenticator. A function is called at each connect and reconnect;
   * pass one if they expire, since a session ends with its credentials (spec §10). If it throws, the
   * first connect fails; a reconnect calls it again later.
   */
  auth?: Credentials | (() => Credentials | Promise<Credentials>);
  /**
   * A client certificate, and authorities to trust, for `https:` and `wss:` URLs. For Deno and
   * Node: browsers present their own certificates, and refuse the option.
   */
  tls?: ClientTlsOptions;
  /** Extra HTTP headers; browsers cannot send them with a WebSocket. */
  headers?: Record<string, string>;
  /** Default polling, then upgraded to WebSocket: only so can a refusal be read everywhere (spec §2). */
  transports?: ("polling" | "websocket")[];
}

/** The events of a connection. */
export interface ConnectionEvents {
  /** The Server accepted this client, for the first time or again. */
  connected: { reconnected: boolean };
  /** The connection was lost; for good unless `reconnecting`. */
  disconnected: { reason: string; reconnecting: boolean };
  /** Member of an office, by a call of `join` or after a reconnect. */
  joined: { office: string; rejoined: boolean };
  /** The Server refused to let this client rejoin its office; next attempt after `retryIn` ms. */
  rejoin_failed: { office: string; reason: string; retryIn: number };
  /** The Server refused this client or speaks another version; no reconnect follows. */
  refused: ProtocolError | ProtocolVersionError;
  /** A notification of the office, already checked. */
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

/** Answers a request of the Server; what it throws becomes a flat error (spec §6). */
export type RequestHandler = (
  event: string,
  payload: unknown,
) => unknown;

/** Options for a single request. */
export interface RequestOptions {
  /** Milliseconds until it fails with `timeout`. */
  timeoutMs: number;
  /** Aborts the wait for the answer; the other side may go on. */
  signal?: AbortSignal | undefined;
}
