import { Buffer } from "node:buffer";
import type { LinkOptions, LinkRedis } from "../../../server/cluster/link.ts";
import { type Links, openLinks } from "../../../server/cluster/redis_links.ts";

/** What a node of a test heard, such as `gone south`, `connected false` or `south: text`. */
export class LinkNode implements AsyncDisposable {
  readonly id: string;
  readonly heard: string[] = [];
  readonly #waiters = new Set<() => void>();
  #links: Links | undefined;
  #tries = 0;
  /** Takes messages, instead of {@linkcode LinkNode.heard}. */
  onMessage: ((from: string, message: Buffer) => void) | undefined;

  /** Is told all that is heard. */
  onHeard = (_what: string) => {};

  constructor(id: string) {
    this.id = id;
  }

  /** Opens the links of a node. */
  static async open(
    redis: LinkRedis,
    id: string,
    options: Partial<LinkOptions> = {},
  ): Promise<LinkNode> {
    const node = new LinkNode(id);
    node.#links = await openLinks(redis, id, {
      received: (from, message) => {
        if (node.onMessage) node.onMessage(from, message);
        else node.#note(`${from}: ${message}`);
      },
      failed: (other, failure) => node.#note(`${failure} ${other}`),
      connected: (isConnected) => node.#note(`connected ${isConnected}`),
    }, { maxMessageBytes: 8 * 2 ** 20, ...options });
    return node;
  }

  get links(): Links {
    if (this.#links === undefined) throw new Error("not open");
    return this.#links;
  }

  /** Sends a text. */
  send(to: string, text: string, stream = "s"): string {
    return this.links.send(to, stream, [Buffer.from(text)]);
  }

  /** Resolves when something was heard so often. */
  async hears(what: string, times = 1): Promise<void> {
    await this.until(() =>
      this.heard.filter((each) => each === what).length >= times
    );
  }

  /**
   * Resolves when messages flow to another node of this process.
   *
   * Sends again and again: around a new connection a link may begin twice, and take one with it.
   */
  async reaches(other: LinkNode): Promise<void> {
    const text = `${this.id}: ${++this.#tries}`;
    const timer = setInterval(() => this.send(other.id, `${this.#tries}`), 50);
    try {
      await other.hears(text);
    } finally {
      clearInterval(timer);
    }
  }

  /** Resolves when a condition holds; it is asked whenever something was heard. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => this.#waiters.add(resolve));
    }
  }

  /** Asks the conditions again. */
  wake(): void {
    for (const waiter of this.#waiters) waiter();
    this.#waiters.clear();
  }

  #note(what: string): void {
    this.heard.push(what);
    this.onHeard(what);
    this.wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#links?.[Symbol.asyncDispose]();
  }
}
