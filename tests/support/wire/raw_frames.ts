/** A bare WebSocket with handwritten Engine.IO packets, which can send what regular clients never would. */
export class RawFrames implements AsyncDisposable {
  readonly #socket: WebSocket;
  readonly #frames: string[] = [];
  #changed = () => {};
  /** Resolves with the close code when the connection is closed. */
  readonly closed: Promise<number>;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      if (data === "2") return socket.send("3"); // heartbeat
      this.#frames.push(String(data));
      this.#changed();
    };
    this.closed = new Promise((resolve) => {
      socket.onclose = ({ code }) => {
        resolve(code);
        this.#changed();
      };
    });
    socket.onerror = () => {};
  }

  /**
   * Opens a session and waits for Engine.IO's first packet.
   *
   * @param namespace connected to at once, unless it is left out
   */
  static async open(url: string, namespace?: string): Promise<RawFrames> {
    const raw = new RawFrames(
      new WebSocket(
        `${
          url.replace("http", "ws")
        }/smcp/?EIO=4&transport=websocket&a2c_version=0.2.0`,
      ),
    );
    await raw.frame("0{");
    if (namespace !== undefined) {
      raw.send(`40${namespace},`);
      await raw.frame(`40${namespace},{`);
    }
    return raw;
  }

  /** Sends one frame as it is. */
  send(frame: string | Uint8Array<ArrayBuffer>): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(frame);
  }

  /** Resolves with the next frame that starts like this, and drops those before it; rejects when closed. */
  async frame(start: string): Promise<string> {
    while (true) {
      const frame = this.#frames.shift();
      if (frame?.startsWith(start)) return frame;
      if (frame !== undefined) continue;
      if (this.#socket.readyState > WebSocket.OPEN) {
        throw new Error(`Closed while waiting for ${start}`);
      }
      await new Promise<void>((resolve) => this.#changed = resolve);
    }
  }

  /** Closes the connection and waits until it is. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
    await this.closed;
  }
}
