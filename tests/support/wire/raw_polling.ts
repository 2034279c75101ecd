/** The separator of Engine.IO packets in a request. */
export const SEPARATOR = "\x1e";

/** Returns the target of polling requests, with additions to its query. */
export const pollingUrl = (url: string, query = ""): string =>
  `${url}/smcp/?EIO=4&transport=polling&a2c_version=0.2.0${query}`;

/** An answer over polling. */
export interface PollingAnswer {
  /** The HTTP status. */
  status: number;
  /** All of the body. */
  body: string;
}

/** A session over HTTP long-polling, of which each request is the test's own. */
export class RawPolling {
  readonly #url: string;
  /** The session's id. */
  readonly sid: string;
  readonly #packets: string[] = [];

  private constructor(url: string, sid: string) {
    this.#url = url;
    this.sid = sid;
  }

  /** Opens a session. */
  static async open(url: string): Promise<RawPolling> {
    const answer = await send(pollingUrl(url));
    return new RawPolling(url, JSON.parse(answer.body.slice(1)).sid);
  }

  /** Opens a session and connects it to the namespace. */
  static async connect(url: string): Promise<RawPolling> {
    const raw = await RawPolling.open(url);
    await raw.post("40/smcp,");
    await raw.packet("40/smcp,{");
    return raw;
  }

  /** Asks for what the server has to say. */
  get(): Promise<PollingAnswer> {
    return send(this.#target());
  }

  /** Sends packets in one request. */
  post(
    packets: string | readonly string[],
    type = "text/plain;charset=UTF-8",
  ): Promise<PollingAnswer> {
    const body = typeof packets === "string"
      ? packets
      : packets.join(SEPARATOR);
    const headers = { "content-type": type };
    return send(this.#target(), { method: "POST", body, headers });
  }

  /** Resolves with the next packet that starts like this; answers pings, drops others. */
  async packet(start: string): Promise<string> {
    while (true) {
      const packet = this.#packets.shift();
      if (packet === undefined) {
        const { status, body } = await this.get();
        if (status !== 200) throw new Error(`Polled ${status}: ${body}`);
        this.#packets.push(...body.split(SEPARATOR));
      } else if (packet.startsWith(start)) return packet;
      else if (packet === "2") await this.post("3");
    }
  }

  #target(): string {
    return pollingUrl(this.#url, `&sid=${this.sid}`);
  }
}

async function send(url: string, init?: RequestInit): Promise<PollingAnswer> {
  const response = await fetch(url, init);
  return { status: response.status, body: await response.text() };
}
