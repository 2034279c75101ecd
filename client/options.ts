import type { ProtocolVersionError } from "../protocol/errors/connect_error.ts";
import type { ProtocolError } from "../protocol/errors/protocol_error.ts";
import type { Notifications } from "../protocol/events.ts";
import type { ClientTlsOptions } from "./tls/tls.ts";

/** A Server's API key for this client. */
export interface ApiKeyCredentials {
  /** As the operator gave it; in a setting of its own, or in the environment, never in the source. */
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

/** Who a client says it is (spec §10). */
export type Credentials =
  | ApiKeyCredentials
  | TokenCredentials
  | OtherCredentials;

/** How to reach a Server, and as whom (spec §2, §9). */
export interface ConnectionOptions {
  /** Address of the Server, such as `https://smcp.example.com`. */
  url: string;
  /** The name to join offices with. */
  name: string;
  /** HTTP path of the Server's Socket.IO endpoint; default `/smcp/`. */
  path?: string;
  /**
   * Credentials for the Server's authenticator. A function is asked at each connect and reconnect;
   * give one where they expire, since a session ends with its credentials (spec §10). One that fails
   * ends the first connect; a reconnect asks it again later.
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

/** What happens to a connection. */
export interface ConnectionEvents {
  /** The Server let this client in, for the first time or again. */
  connected: { reconnected: boolean };
  /** The connection is gone; unless `reconnecting`, for good. */
  disconnected: { reason: string; reconnecting: boolean };
  /** Member of an office, by a call of `join` or after a reconnect. */
  joined: { office: string; rejoined: boolean };
  /** The Server did not let this client back into its office; it is asked again after `retryIn` ms. */
  rejoin_failed: { office: string; reason: string; retryIn: number };
  /** Given up: the Server refuses this client, or speaks another version. */
  refused: ProtocolError | ProtocolVersionError;
  /** A notification of the office, already checked. */
  notification: AnyNotification;
}

/** A notification with its payload. */
export type AnyNotification = {
  [N in keyof Notifications]: { event: N; payload: Notifications[N] };
}[keyof Notifications];

/** Where a connection stands. */
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

/** What belongs to one request. */
export interface RequestOptions {
  /** Milliseconds until it fails with `timeout`. */
  timeoutMs: number;
  /** Gives the answer up; what was asked for may go on at the other side. */
  signal?: AbortSignal | undefined;
}
