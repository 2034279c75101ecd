/**
 * The part of Cloudflare's runtime that is used, by its own names: its types are in packages that change
 * with each of its dates.
 *
 * @module
 */
import type { Upgraded, UpgradeOptions } from "../fetch/fetch_requests.ts";
import type { PlatformSocket } from "../wire/fetch_engine.ts";

/** A WebSocket of Cloudflare, which has no `onmessage` and no `bufferedAmount`. */
export interface WorkerWebSocket {
  /** How binary messages are handed over. */
  binaryType: string;
  /** As that of any WebSocket. */
  readonly readyState: number;
  /** Begins to receive, in memory of this object. */
  accept(): void;
  /** Queues a message. */
  send(data: string | Uint8Array): void;
  /** Queues a close frame. */
  close(code?: number, reason?: string): void;
  /** Adds a listener of messages. */
  addEventListener(
    type: "message",
    listener: (event: { readonly data: unknown }) => void,
  ): void;
  /** Adds a listener of its end. */
  addEventListener(
    type: "close",
    listener: (event: { readonly code: number }) => void,
  ): void;
  /** Adds a listener of its failure. */
  addEventListener(type: "error", listener: () => void): void;
}

/** The names of a namespace's objects. */
export interface ObjectNamespace {
  /** Returns the id of a name. */
  idFromName(name: string): object;
  /** Returns the stub of an object, which exists from its first request on. */
  get(id: object): ObjectStub;
}

/** The stub of an object: sends it requests. */
export type ObjectStub = Pick<ObjectHandlers, "fetch">;

/** What an object keeps, in SQLite. */
export interface ObjectStorage {
  /** The database. */
  readonly sql: {
    /** Runs a statement. */
    exec(
      statement: string,
      ...values: readonly (string | number)[]
    ): { toArray(): readonly Readonly<Record<string, unknown>>[] };
  };
  /** Runs work of which all statements take effect, or none. */
  transactionSync(work: () => void): void;
}

/** What an object is made with. */
export interface ObjectState {
  /** What it keeps. */
  readonly storage: ObjectStorage;
  /** Its id, with the name that this was made of. */
  readonly id: { readonly name?: string };
  /** Begins to receive by {@linkcode ObjectHandlers}: the object may sleep meanwhile. */
  acceptWebSocket(socket: WorkerWebSocket, tags: readonly string[]): void;
  /** Returns those that were accepted so, and are open. */
  getWebSockets(): readonly WorkerWebSocket[];
  /** Returns the tags that one was accepted with. */
  getTags(socket: WorkerWebSocket): readonly string[];
}

/** A Durable Object, as the runtime calls it. */
export interface ObjectHandlers {
  /** Answers a request. */
  fetch(request: Request): Promise<Response>;
  /** Takes a message of a WebSocket that was accepted by the object's state. */
  webSocketMessage(socket: WorkerWebSocket, data: ArrayBuffer | string): void;
  /** Notes that one is closed. */
  webSocketClose(socket: WorkerWebSocket, code?: number): void;
  /** Notes that one has failed. */
  webSocketError(socket: WorkerWebSocket): void;
}

/** What `Response` takes, and has, on Cloudflare alone. */
type WithWebSocket = { readonly webSocket?: WorkerWebSocket | null };

/** Two ends of a WebSocket. */
type NewPair = new () => { readonly 0: WorkerWebSocket; 1: WorkerWebSocket };

/**
 * Makes the two ends of a WebSocket.
 *
 * @throws {TypeError} on another platform
 */
export function newPair(): [client: WorkerWebSocket, server: WorkerWebSocket] {
  const make: NewPair | undefined = Reflect.get(globalThis, "WebSocketPair");
  if (make === undefined) {
    throw new TypeError(
      "Cannot serve by Cloudflare's fetch on this platform, which has no WebSocketPair: on Deno use deno() of @a2c-smcp/sdk/server/deno, on Bun bun() of @a2c-smcp/sdk/server/bun, on Node createSmcpServer() without an adapter, with listen()",
    );
  }
  const { 0: client, 1: server } = new make();
  return [client, server];
}

/** Answers an upgrade request with the client's end. */
export function upgraded(
  webSocket: WorkerWebSocket,
  { protocol }: UpgradeOptions = {},
): Response {
  const headers = protocol && { "Sec-WebSocket-Protocol": protocol };
  const init: ResponseInit & WithWebSocket = {
    status: 101,
    webSocket,
    ...(headers && { headers }),
  };
  return new Response(null, init);
}

/** Returns the WebSocket of the answer to an upgrade request. */
export const webSocketOf = (response: Response): WorkerWebSocket | undefined =>
  (response as WithWebSocket).webSocket ?? undefined;

/** Begins to receive. */
export function open(socket: WorkerWebSocket): WorkerWebSocket {
  socket.binaryType = "arraybuffer"; // newer dates hand over a Blob
  socket.accept();
  return socket;
}

const CONNECTING = 0;

/** A WebSocket of Cloudflare with the interface of browsers; open when its maker has returned. */
class HandledSocket implements PlatformSocket {
  readonly bufferedAmount = 0; // the platform does not say
  binaryType = "arraybuffer"; // as `open` has set it
  onopen: PlatformSocket["onopen"] = null;
  onmessage: PlatformSocket["onmessage"] = null;
  onerror: PlatformSocket["onerror"] = null;
  onclose: PlatformSocket["onclose"] = null;
  readonly #socket: WorkerWebSocket;
  #isOpen = false;

  constructor(socket: WorkerWebSocket) {
    this.#socket = open(socket);
    socket.addEventListener("message", (event) => this.onmessage?.(event));
    socket.addEventListener("error", () => this.onerror?.());
    socket.addEventListener("close", (event) => {
      // Of a client that asks to close, the platform waits for the answer.
      socket.close();
      this.onclose?.(event);
    });
    queueMicrotask(() => {
      this.#isOpen = true;
      this.onopen?.();
    });
  }

  get readyState(): number {
    return this.#isOpen ? this.#socket.readyState : CONNECTING;
  }

  send(data: string | Uint8Array): void {
    this.#socket.send(data);
  }

  close(code?: number): void {
    this.#socket.close(code);
  }
}

/** Makes a WebSocket of an upgrade request. */
export function upgrade(options: UpgradeOptions): Upgraded {
  const [client, server] = newPair();
  const socket = new HandledSocket(server);
  return { socket, response: upgraded(client, options) };
}
