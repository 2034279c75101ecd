import { clientFrame, OP, RawWebSocket } from "./raw_websocket.ts";

/**
 * A WebSocket client that reads only on demand, and answers neither pings nor a close: like a client on
 * a dead line, or a hostile one.
 */
export class SlowClient implements AsyncDisposable {
  readonly #raw: RawWebSocket;
  #text = "";

  private constructor(raw: RawWebSocket) {
    this.#raw = raw;
    raw.answersClose = false;
  }

  /** Connects to the namespace; it is a member of no office yet. */
  static async open(url: string): Promise<SlowClient> {
    return new SlowClient(
      await RawWebSocket.connect(Number(new URL(url).port)),
    );
  }

  /** Resolves when the connection is closed. */
  get closed(): Promise<unknown> {
    return this.#raw.closed;
  }

  /** Sends a text frame. */
  send(text: string): void {
    this.#raw.send(text);
  }

  /** Sends a text frame of these bytes, whether they are text or not. */
  sendBytes(body: Uint8Array): void {
    this.#raw.write(clientFrame(OP.text, body));
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
      this.#text += (await this.#raw.frame()).payload.toString("latin1");
    }
  }

  /** Reads nothing from now on. */
  pause(): void {
    this.#raw.pause();
  }

  /** Reads again. */
  resume(): void {
    this.#raw.resume();
  }

  /** Cuts the connection. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#raw[Symbol.asyncDispose]();
  }
}
