import { io, type Socket } from "socket.io-client";
import { newTransports } from "../../../client/network/node_transports.ts";
import { CLOSE_TIMEOUT_MS } from "../../../client/wire.ts";
import { PROTOCOL_VERSION, type Role } from "../../../protocol/mod.ts";
import { withTimeout } from "../../../shared/async.ts";

/** Options of a raw client. */
export interface RawOptions {
  /** Default `/smcp/`. */
  path?: string;
  /** The `auth` object. */
  auth?: Record<string, unknown>;
  /** Default WebSocket alone, which is the faster. */
  transports?: ("polling" | "websocket")[];
  /** The `a2c_version` of the query; `null` sends none. */
  version?: string | null;
  /** Default `/smcp`. */
  namespace?: string;
  /** Certificates and keys, as `node:https` takes them. */
  tls?: { ca?: string; cert?: string; key?: string };
  /** Whether it reconnects by itself; default no. */
  reconnection?: boolean;
}

/** An event that a client received. */
export interface Heard {
  /** The event. */
  event: string;
  /** Its first argument. */
  payload: unknown;
}

/** Answers an event. */
type Handler = (payload: unknown, ack: (...args: unknown[]) => void) => void;

/** A bare Socket.IO client that plays an Agent or a Computer: nothing of the SDK between test and wire. */
export class RawClient implements AsyncDisposable {
  /** The client itself. */
  readonly socket: Socket;
  /** Every event that was heard and had no handler, in order. */
  readonly heard: Heard[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #transports = newTransports();
  readonly #handlers = new Map<string, Handler>();

  /** Starts to connect; wait with {@linkcode RawClient.connected}. */
  constructor(url: string, options: RawOptions = {}) {
    const { version = PROTOCOL_VERSION } = options;
    this.socket = io(url + (options.namespace ?? "/smcp"), {
      path: options.path ?? "/smcp/",
      query: version === null ? {} : { a2c_version: version },
      transports: (options.transports ?? ["websocket"])
        .map((name) => this.#transports[name]),
      reconnection: options.reconnection ?? false,
      reconnectionDelay: 10,
      reconnectionDelayMax: 50,
      forceNew: true,
      ...(options.auth && { auth: options.auth }),
      ...options.tls,
    });
    this.socket.onAny((event: string, ...args: unknown[]) => {
      const ack = args.at(-1);
      const handler = this.#handlers.get(event);
      if (handler) {
        return handler(
          args[0],
          (...answer) => typeof ack === "function" && ack(...answer),
        );
      }
      this.heard.push({ event, payload: args[0] });
      this.#wake();
    });
    this.socket.on("disconnect", () => this.#wake());
  }

  /** Resolves when connected; rejects with the `connect_error`, or when the connection is lost before. */
  connected(): Promise<void> {
    if (this.socket.connected) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.socket.once("connect", resolve);
      this.socket.once("connect_error", reject);
      this.socket.once("disconnect", (reason) => reject(new Error(reason)));
    });
  }

  /** Resolves when disconnected, with the reason. */
  disconnected(): Promise<string> {
    if (!this.socket.connected) return Promise.resolve("already");
    return new Promise((resolve) => this.socket.once("disconnect", resolve));
  }

  /** Sends an event with an ack; resolves with all arguments of the ack. */
  request(event: string, ...args: unknown[]): Promise<unknown[]> {
    return new Promise((resolve) =>
      this.socket.emit(event, ...args, (...ack: unknown[]) => resolve(ack))
    );
  }

  /** Sends an event with an ack; resolves with its first argument. */
  async ask(event: string, payload: unknown): Promise<unknown> {
    return (await this.request(event, payload))[0];
  }

  /** Joins an office; resolves with the arguments of the ack. */
  join(role: Role, name: string, office_id: string): Promise<unknown[]> {
    return this.request("server:join_office", { role, name, office_id });
  }

  /** Answers an event from now on. */
  handle(event: string, handler: Handler): void {
    this.#handlers.set(event, handler);
  }

  /** Resolves with the next event of that name, and forgets what came before it. */
  async next(event: string): Promise<unknown> {
    const at = await this.heardOf(event);
    return this.heard.splice(0, at + 1).at(-1)?.payload;
  }

  /** Resolves with the index of the next event of that name in {@linkcode RawClient.heard}. */
  async heardOf(event: string): Promise<number> {
    while (true) {
      const at = this.heard.findIndex((heard) => heard.event === event);
      if (at >= 0) return at;
      if (!this.socket.connected) {
        throw new Error(`Disconnected while waiting for ${event}`);
      }
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /** Disconnects, and resolves when the connection is closed. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { engine } = this.socket.io;
    const closed = engine.readyState === "closed"
      ? Promise.resolve()
      : new Promise<void>((resolve) => engine.once("close", () => resolve()));
    this.socket.disconnect();
    await closed;
    // A server that is stopped does not answer.
    await withTimeout(
      CLOSE_TIMEOUT_MS,
      async () => await this.#transports.ended?.(),
    )
      .catch(() => {});
  }
}

/** Connects a raw client. */
export async function connectRaw(
  url: string,
  options?: RawOptions,
): Promise<RawClient> {
  const client = new RawClient(url, options);
  try {
    await client.connected();
  } catch (error) {
    await client[Symbol.asyncDispose]();
    throw error;
  }
  return client;
}

/** The URL of a Server, alone or with the options of a connection to it. */
export type RawServer = string | ({ readonly url: string } & RawOptions);

/** Connects a raw client and joins it to an office. */
export async function joinRaw(
  server: RawServer,
  role: Role,
  name: string,
  office: string,
): Promise<RawClient> {
  const client = typeof server === "string"
    ? await connectRaw(server)
    : await connectRaw(server.url, server);
  const [ok, reason] = await client.join(role, name, office);
  if (ok !== true) {
    await client[Symbol.asyncDispose]();
    throw new Error(`${role} "${name}" could not join: ${reason}`);
  }
  return client;
}

/**
 * An office with an Agent "agent" and a Computer "computer"; the Agent has heard of the Computer.
 *
 * @param office its `office_id`
 */
export async function rawPair(
  url: string,
  office = "office",
): Promise<{ agent: RawClient; computer: RawClient } & AsyncDisposable> {
  const agent = await joinRaw(url, "agent", "agent", office);
  const computer = await joinRaw(url, "computer", "computer", office);
  await agent.next("notify:enter_office");
  return {
    agent,
    computer,
    async [Symbol.asyncDispose]() {
      const both = [agent, computer];
      await Promise.all(both.map((each) => each[Symbol.asyncDispose]()));
    },
  };
}
