import type { ProtocolName } from "../../protocol/mod.ts";
import { PROTOCOL_VERSIONS } from "../../protocol/version.ts";

/** What came for an event: its ack, or why there is none. */
export type Reply = { readonly ack: string } | { readonly closed: number };

const NO_CODE = 1006;

/** An event or an ack of the namespace. */
const PACKET = /^4([23])\/smcp,(\d*)([^]*)/;

/**
 * A client of one WebSocket with a minimal Socket.IO, that sends prepared JSON and parses nothing: what it
 * costs itself must not be taken for the Server's time.
 */
export class RawClient {
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, (reply: Reply) => void>();
  readonly #opened = Promise.withResolvers<boolean>();
  #ids = 0;
  #code = NO_CODE;
  /** Called with the id and the event of each request of the Server. */
  onRequest: (id: string, event: string) => void = () => {};

  private constructor(port: number, protocol: ProtocolName) {
    const version = PROTOCOL_VERSIONS[protocol];
    const query = `EIO=4&transport=websocket&a2c_version=${version}`;
    this.#socket = new WebSocket(`ws://127.0.0.1:${port}/smcp/?${query}`);
    this.#socket.onmessage = ({ data }) => this.#take(String(data));
    this.#socket.onerror = () => {}; // "close" follows
    this.#socket.onclose = ({ code }) => {
      this.#code = code;
      this.#opened.resolve(false);
      for (const end of this.#pending.values()) end({ closed: code });
      this.#pending.clear();
    };
  }

  /** Connects to the namespace. @throws {Error} when the Server refuses */
  static async open(port: number, protocol: ProtocolName): Promise<RawClient> {
    const client = new RawClient(port, protocol);
    if (await client.#opened.promise) return client;
    throw new Error(`The Server refused a client of ${protocol}`);
  }

  /** Whether the connection is open. */
  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** Sends an event; resolves with its answer, or once the connection has closed without one. */
  ask(event: string, body: string): Promise<Reply> {
    if (!this.isOpen) return Promise.resolve({ closed: this.#code });
    const id = this.#ids++;
    const { promise, resolve } = Promise.withResolvers<Reply>();
    this.#pending.set(id, resolve);
    this.#send(`42/smcp,${id}["${event}",${body}]`);
    return promise;
  }

  /** Joins an office. @throws {Error} when the Server refuses */
  async join(role: string, name: string, office_id: string): Promise<this> {
    const body = JSON.stringify({ role, name, office_id });
    const reply = await this.ask("server:join_office", body);
    if ("ack" in reply && reply.ack.startsWith("[true")) return this;
    throw new Error(`Cannot join: ${JSON.stringify(reply)}`);
  }

  /** Sends an event without an ack. */
  notify(event: string, body: string): void {
    this.#send(`42/smcp,["${event}",${body}]`);
  }

  /** Answers a request. */
  answer(id: string, body: string): void {
    this.#send(`43/smcp,${id}[${body}]`);
  }

  /** Closes the connection. */
  close(): void {
    this.#socket.close();
  }

  #send(packet: string): void {
    if (this.isOpen) this.#socket.send(packet);
  }

  #take(packet: string): void {
    if (packet === "2") return this.#send("3");
    if (packet.startsWith("0{")) return this.#send("40/smcp,");
    if (packet.startsWith("40/smcp,")) return this.#opened.resolve(true);
    if (packet.startsWith("44/smcp,")) return this.#opened.resolve(false);
    const [, kind, id = "", rest = ""] = PACKET.exec(packet) ?? [];
    if (kind === "3") {
      this.#pending.get(Number(id))?.({ ack: rest });
      this.#pending.delete(Number(id));
    } else if (kind === "2" && id !== "") {
      this.onRequest(id, /^\["([^"]*)"/.exec(rest)?.[1] ?? "");
    }
  }
}
