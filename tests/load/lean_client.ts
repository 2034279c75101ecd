/** A lightweight client: one WebSocket, and a minimal Socket.IO. */
export class LeanClient {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (answer: string | undefined) => void>();
  readonly #opened = Promise.withResolvers<boolean>();
  #ids = 0;
  /** Received notifications. */
  heard = 0;
  /** Called with each notification. */
  onNotification = () => {};
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;

  private constructor(url: string) {
    const { host } = new URL(url);
    const query = "EIO=4&transport=websocket&a2c_version=0.2.0";
    this.#socket = new WebSocket(`ws://${host}/smcp/?${query}`);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.#socket.onmessage = ({ data }) => this.#receive(String(data));
    this.#socket.onerror = () => {};
    this.#socket.onclose = () => {
      this.#opened.resolve(false);
      for (const give of this.#waiting.values()) give(undefined);
      this.#waiting.clear();
      resolve();
    };
  }

  /** Connects to the namespace; `undefined` when the server refuses. */
  static async open(url: string): Promise<LeanClient | undefined> {
    const client = new LeanClient(url);
    return await client.#opened.promise ? client : undefined;
  }

  /** Connects, or throws. */
  static async connect(url: string): Promise<LeanClient> {
    const client = await LeanClient.open(url);
    if (client === undefined) throw new Error("The server refused a client");
    return client;
  }

  /** Whether frames can still be sent. */
  get alive(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** Sends a raw frame. */
  send(frame: string | Uint8Array<ArrayBuffer>): void {
    if (this.alive) this.#socket.send(frame);
    // After leaving the namespace there are no more answers, so the connection is closed.
    if (frame === "41/smcp," || frame === "41/smcp") this.#socket.close();
  }

  /** Sends an event; the text of the ack's arguments, or `undefined` when the connection closed before it. */
  ask(event: string, payload: unknown): Promise<string | undefined> {
    return this.askRaw(JSON.stringify([event, payload]));
  }

  /** The same with the packet's arguments as text. */
  askRaw(body: string): Promise<string | undefined> {
    if (!this.alive) return Promise.resolve(undefined);
    const id = this.#ids++;
    const answer = new Promise<string | undefined>((resolve) =>
      this.#waiting.set(id, resolve)
    );
    this.send(`42/smcp,${id}${body}`);
    return answer;
  }

  /** Joins an office; returns whether it was admitted. */
  async join(role: string, name: string, office_id: string): Promise<boolean> {
    const answer = await this.ask("server:join_office", {
      role,
      name,
      office_id,
    });
    return answer === "[true,null]";
  }

  /** Resolves when the server took everything sent so far, or closed. */
  async barrier(): Promise<void> {
    await this.askRaw('["notify:barrier"]');
  }

  /** Closes, and waits for it. */
  async close(): Promise<void> {
    this.#socket.close();
    await this.closed;
  }

  #receive(frame: string): void {
    if (frame === "2") this.send("3");
    else if (frame.startsWith("0{")) this.send("40/smcp,");
    else if (frame.startsWith("40/smcp,{")) this.#opened.resolve(true);
    else if (frame.startsWith("44/smcp,")) this.#opened.resolve(false);
    else if (frame.startsWith("43/smcp,")) this.#answered(frame);
    else if (/^42\/smcp,\d/.test(frame)) this.#answer(frame);
    else if (frame.startsWith("42/smcp,")) {
      this.heard++;
      this.onNotification();
    }
  }

  #answered(frame: string): void {
    const start = frame.indexOf("[");
    const id = Number(frame.slice("43/smcp,".length, start));
    this.#waiting.get(id)?.(frame.slice(start));
    this.#waiting.delete(id);
  }

  /** Plays a Computer that answers everything at once. */
  #answer(frame: string): void {
    const id = frame.slice("42/smcp,".length, frame.indexOf("["));
    this.send(`43/smcp,${id}[{"content":[]}]`);
  }
}
