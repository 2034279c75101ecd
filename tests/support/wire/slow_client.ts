import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";

/**
 * A WebSocket client that reads only on demand, and answers no ping: what a client on a
 * dead line, or a hostile one, looks like to the server.
 */
export class SlowClient implements AsyncDisposable {
  readonly #socket: Socket;
  #text = "";
  #changed = () => {};
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => socket.once("close", resolve));
    socket.setEncoding("latin1");
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      this.#text += chunk;
      this.#changed();
    });
    socket.on("close", () => this.#changed());
  }

  /** Connects to the namespace; reads until it is a member of nothing yet. */
  static async open(url: string): Promise<SlowClient> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const client = new SlowClient(socket);
    socket.write(
      [
        "GET /smcp/?EIO=4&transport=websocket&a2c_version=0.2.0 HTTP/1.1",
        `Host: ${hostname}`,
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "\r\n",
      ].join("\r\n"),
    );
    await client.heard("0{");
    client.send("40/smcp,");
    await client.heard("40/smcp,{");
    return client;
  }

  /** Sends a text frame of less than 64 KiB; its mask is zero, so that it stays readable. */
  send(text: string): void {
    this.sendBytes(Buffer.from(text));
  }

  /** Sends a text frame of these bytes, whether they are text or not. */
  sendBytes(body: Buffer): void {
    const head = body.length < 126
      ? Buffer.from([0x81, 0x80 | body.length])
      : Buffer.from([0x81, 0xfe, body.length >> 8, body.length & 0xff]);
    this.#socket.write(Buffer.concat([head, Buffer.alloc(4), body]));
  }

  /** Joins an office. */
  async join(role: string, name: string, office_id: string): Promise<void> {
    const payload = { role, name, office_id };
    this.send(`42/smcp,0${JSON.stringify(["server:join_office", payload])}`);
    await this.heard("43/smcp,0[true");
  }

  /** Resolves when a text has come; rejects when the connection closes before. */
  async heard(text: string): Promise<void> {
    while (!this.#text.includes(text)) {
      if (this.#socket.closed) throw new Error(`Closed before "${text}"`);
      await new Promise<void>((resolve) => this.#changed = resolve);
    }
  }

  /** Reads nothing from now on. */
  pause(): void {
    this.#socket.pause();
  }

  /** Reads again, and throws away what comes. */
  resume(): void {
    this.#socket.resume();
  }

  /** Cuts the connection without a word. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
    await this.closed;
  }
}
