/**
 * Engine.IO and Socket.IO of our own, with the WebSockets of a platform that hands over whole messages,
 * such as `Deno.upgradeWebSocket`. Only servers with an adapter load this file.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import { Encoder, type Packet, PacketType } from "socket.io-parser";
import { SMCP_NAMESPACE } from "../../protocol/mod.ts";
import {
  type Exchange,
  parametersOf,
  type RequestHead,
  splitTarget,
} from "../shared/http.ts";
import {
  asksForWebSocket,
  type ClientEngine,
  type ClientSocket,
  type ConnectionGuard,
  type EngineOptions,
  firstProtocol,
  type Reception,
  type WireConnection,
} from "./wire_connection.ts";
import { PacketDecoder } from "./packet_decoder.ts";
import { EngineConnection } from "./engine_connection.ts";
import {
  type ByteCount,
  FetchSocket,
  type PlatformSocket,
} from "./fetch_socket.ts";

export type { ByteCount, PlatformSocket } from "./fetch_socket.ts";

/** Options for {@linkcode FetchEngine}. */
interface FetchEngineOptions extends EngineOptions {
  /** Maximum bytes of a message without a session. */
  readonly earlyPayload: number;
  /** Counts the bytes of messages. */
  readonly bytes: ByteCount;
}

/** Makes a WebSocket of a request. */
type Upgrade = (
  options: { readonly protocol?: string },
) => { readonly socket: PlatformSocket; readonly response: Response };

/** Errors of Engine.IO, by their codes. */
const ERRORS = [
  "Transport unknown",
  "Session ID unknown",
  "Bad handshake method",
  "Bad request",
  "Forbidden",
  "Unsupported protocol version",
] as const;

/**
 * Engine.IO and Socket.IO for platforms that call a `fetch` handler: version 4 of the one and 5 of the
 * other, of which only what the server needs. Peers cannot distinguish it from the stock engine.
 */
export class FetchEngine implements ClientEngine {
  readonly #options: FetchEngineOptions;
  readonly #clients = new Map<string, Client>();
  #reception: Reception | undefined;

  constructor(options: FetchEngineOptions) {
    this.#options = options;
  }

  get connections(): WireConnection[] {
    return [...this.#clients.values()].map(({ conn }) => conn);
  }

  serve(reception: Reception): void {
    this.#reception = reception;
  }

  answer({ incoming, outgoing }: Exchange): Response | Promise<Response> {
    const found = this.#find(incoming, false);
    if (typeof found === "number") {
      incoming.resume();
      return Response.json(this.#refused(incoming, found), { status: 400 });
    }
    const client = found ?? this.#open(incoming);
    if (incoming.method === "GET") return poll(client.conn, outgoing);
    if (incoming.method === "POST") return post(client, incoming);
    incoming.resume();
    return empty(500);
  }

  /**
   * Answers an upgrade that may pass.
   *
   * @returns the answer, and the WebSocket unless the upgrade is refused
   */
  upgrade(
    request: RequestHead,
    make: Upgrade,
  ): { readonly response: Response; readonly socket?: FetchSocket } {
    const found = this.#find(request, true);
    if (typeof found === "number") {
      return refused(this.#refused(request, found).message);
    }
    const { method, headers } = request;
    if (!asksForWebSocket(method, headers)) return refused("Bad Request");
    const protocol = firstProtocol(headers["sec-websocket-protocol"]);
    const { socket: ws, response } = make(protocol ? { protocol } : {});
    const { maxMessageBytes, earlyPayload, bytes } = this.#options;
    // Synchronous: a listener that is added later would miss the first events.
    const socket = new FetchSocket(ws, maxMessageBytes, earlyPayload, bytes);
    ws.onopen = () => {
      if (found) found.conn.upgrade(socket);
      else this.#open(request, socket);
    };
    return { response, socket };
  }

  close(): Promise<void> {
    const clients = [...this.#clients.values()];
    for (const client of clients) client.leave();
    for (const { conn } of clients) conn.close(true);
    return Promise.resolve();
  }

  /** Returns the client that a request belongs to, `undefined` for a new one, or the code of an error. */
  #find(
    { method, url = "" }: RequestHead,
    isUpgrade: boolean,
  ): Client | number | undefined {
    const parameters = parametersOf(splitTarget(url).query);
    const last = (name: string) => parameters.getAll(name).at(-1);
    const transport = last("transport");
    const isOther = last("EIO") !== "4";
    if (transport !== "polling" && transport !== "websocket") return 0;
    const sid = last("sid");
    if (sid) {
      const client = this.#clients.get(sid);
      if (client === undefined) return 1;
      const isWrong = !isUpgrade && client.conn.transport !== transport;
      return isWrong || isOther ? 3 : client;
    }
    if (method !== "GET") return 2;
    if ((transport === "websocket") !== isUpgrade) return 3;
    return isOther ? 5 : undefined;
  }

  #open(request: RequestHead, ws?: FetchSocket): Client {
    const reception = this.#reception;
    if (reception === undefined) throw new Error("No reception was set");
    const { sessionPrefix = "" } = this.#options;
    const sid = sessionPrefix + randomId();
    const conn = new EngineConnection(sid, request, this.#options, ws);
    const client = new Client(conn, reception);
    this.#clients.set(sid, client);
    conn.on("close", () => this.#clients.delete(sid));
    return client;
  }

  #refused(request: RequestHead, code: number) {
    const message = ERRORS[code] ?? "";
    this.#reception?.refused(request, code, message);
    return { code, message };
  }
}

/** Refuses an upgrade. */
const refused = (message: string) => ({
  response: new Response(message, {
    status: 400,
    headers: { "Content-Type": "text/plain", "Connection": "close" },
  }),
});

const empty = (status: number): Response => new Response(null, { status });

/** Returns an answer that no cache keeps. */
const answered = (body: string | ReadableStream<Uint8Array>, type: string) =>
  new Response(body, {
    headers: { "Content-Type": type, "Cache-Control": "no-store" },
  });

/** Answers a poll: immediately, since the platform reports that a client is gone only by a body that it waits for. */
function poll(
  conn: EngineConnection,
  { lasts }: Exchange["outgoing"],
): Response {
  const encoder = new TextEncoder();
  let body: string | undefined;
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  const gone = conn.poll((payload) => {
    body = payload;
    stream?.enqueue(encoder.encode(payload));
    stream?.close();
  });
  if (gone === undefined) return empty(400);
  if (body === undefined) lasts?.();
  const start = (controller: ReadableStreamDefaultController<Uint8Array>) =>
    void (stream = controller);
  return answered(
    body ?? new ReadableStream<Uint8Array>({ start, cancel: gone }),
    "text/plain; charset=UTF-8",
  );
}

async function post(
  { conn, guard }: Client,
  incoming: Exchange["incoming"],
): Promise<Response> {
  const status = await conn.post(incoming, guard.watch());
  return status === 200 ? answered("ok", "text/html") : empty(status);
}

const socketEncoder = new Encoder();

/** A connection with its Socket.IO: the namespaces that clients request, and the socket in that of the protocol. */
class Client {
  readonly conn: EngineConnection;
  /** Checks what the connection sends. */
  readonly guard: ConnectionGuard;
  readonly decoder: PacketDecoder;
  readonly #reception: Reception;
  #socket: NamespaceSocket | undefined;

  constructor(conn: EngineConnection, reception: Reception) {
    this.conn = conn;
    this.#reception = reception;
    this.guard = reception.opened(conn);
    this.decoder = new PacketDecoder(this.guard);
    this.decoder.on("decoded", (packet: Packet) => this.#take(packet));
    conn.on("message", (data) => this.decoder.add(data));
    conn.on("close", () => this.leave());
  }

  /** Ends the session, and drops what waits for its turn. */
  leave(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    this.decoder.destroy();
    socket?.left();
  }

  /** Takes what the session does not. */
  #take({ type, nsp, data }: Packet): void {
    const socket = nsp === SMCP_NAMESPACE ? this.#socket : undefined;
    if (type === PacketType.CONNECT && !socket) {
      return void this.#connect(nsp, data);
    }
    if (socket && type === PacketType.DISCONNECT) {
      // Not immediately: nothing of the same payload belongs to a next session.
      return queueMicrotask(() => {
        this.#socket = undefined;
        socket.left();
      });
    }
    const isEvent = type !== PacketType.CONNECT &&
      type !== PacketType.CONNECT_ERROR;
    if (socket && isEvent) return;
    this.conn.close();
    this.leave();
  }

  async #connect(nsp: string, auth = {}): Promise<void> {
    const { conn } = this;
    const socket = new NamespaceSocket(this);
    // Never immediately: what follows in the same payload may close the connection.
    const isOurs = nsp === SMCP_NAMESPACE;
    const verdict =
      await (isOurs
        ? this.#reception.admit(socket, auth)
        : this.#reception.elsewhere(conn));
    if (!conn.isOpen) return;
    if (verdict instanceof Error) {
      const { message } = verdict;
      const data = { message, data: verdict.data };
      return this.#write({ type: PacketType.CONNECT_ERROR, nsp, data });
    }
    this.#socket = socket;
    socket.connected = true;
    this.#write({ type: PacketType.CONNECT, nsp, data: { sid: socket.id } });
    verdict();
  }

  #write(packet: Packet): void {
    for (const part of socketEncoder.encode(packet)) this.conn.write(part);
  }
}

/** A client's socket in the namespace of the protocol. */
class NamespaceSocket extends EventEmitter implements ClientSocket {
  readonly id = randomId();
  readonly conn: EngineConnection;
  readonly decoder: PacketDecoder;
  connected = false;
  readonly #client: Client;

  constructor(client: Client) {
    super();
    this.conn = client.conn;
    this.decoder = client.decoder;
    this.#client = client;
  }

  disconnect(): void {
    if (!this.connected) return;
    this.conn.write(`1${SMCP_NAMESPACE},`);
    this.left();
    this.conn.close();
    this.#client.leave();
  }

  /** Notes that the client has left. */
  left(): void {
    if (!this.connected) return;
    this.connected = false;
    this.emit("disconnect");
  }
}

/** Returns an id that cannot be guessed, as Engine.IO makes them: 20 characters. */
const randomId = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(15))).toString("base64url");
