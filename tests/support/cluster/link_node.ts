import { Buffer } from "node:buffer";
import {
  type LinkOptions,
  type LinkRedis,
  type Links,
  openLinks,
} from "../../../server/cluster/redis_links.ts";

/** The links of a node, and what they report, such as `gone south`, `connected false` or `south: text`. */
export class LinkNode implements AsyncDisposable {
  readonly heard: string[] = [];
  readonly #waiters = new Set<() => void>();
  #links: Links | undefined;

  /** Takes messages, instead of {@linkcode LinkNode.heard}. */
  onMessage = (from: string, message: Buffer): void =>
    this.#note(`${from}: ${message}`);

  private constructor(readonly id: string) {}

  /** Opens the links of a node. */
  static async open(
    redis: LinkRedis,
    id: string,
    options: Partial<LinkOptions> = {},
  ): Promise<LinkNode> {
    const node = new LinkNode(id);
    node.#links = await openLinks(redis, id, {
      received: (from, message) => node.onMessage(from, message),
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

  /** Resolves when it has reported something so often. */
  hears(what: string, times = 1): Promise<void> {
    return this.until(() =>
      this.heard.filter((each) => each === what).length >= times
    );
  }

  /** Resolves when a condition holds; it is evaluated at each report. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => this.#waiters.add(resolve));
    }
  }

  /** Evaluates the conditions again. */
  wake(): void {
    for (const waiter of this.#waiters) waiter();
    this.#waiters.clear();
  }

  #note(what: string): void {
    this.heard.push(what);
    this.wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#links?.[Symbol.asyncDispose]();
  }
}
