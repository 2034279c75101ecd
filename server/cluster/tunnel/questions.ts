import { Buffer } from "node:buffer";
import { failure, log } from "../../shared/log.ts";
import type { OtherNodes } from "../../shared/cluster.ts";
import { encodeHead, Kind, type TunnelFrame } from "./frames.ts";

/** The parts of a tunnel that {@linkcode Questions} needs. */
export interface QuestionsParts {
  /** The nodes that can be asked. */
  peers(): ReadonlySet<string>;
  /** The largest message that a node takes, in bytes. */
  maxMessageBytes(): number;
  /** Sends a frame; those of one stream arrive in order. Returns whether it is on its way. */
  send(node: string, stream: string, frame: readonly Uint8Array[]): boolean;
}

/** The most that a frame has besides its text. */
const ENVELOPE_BYTES = 64;

interface Open {
  readonly node: string;
  /** Ends the question, without an answer if there is none. */
  readonly end: (answer?: unknown) => void;
}

/** What nodes ask each other for those who operate them. */
export class Questions implements OtherNodes {
  readonly #parts: QuestionsParts;
  readonly #open = new Map<number, Open>();
  #id = 0;
  #answer: ((question: unknown) => unknown) | undefined;

  constructor(parts: QuestionsParts) {
    this.#parts = parts;
  }

  get nodes(): ReadonlySet<string> {
    return this.#parts.peers();
  }

  ask(node: string, question: unknown, timeoutMs: number): Promise<unknown> {
    const id = ++this.#id;
    return new Promise((resolve) => {
      const end = (answer?: unknown) => {
        clearTimeout(timer);
        this.#open.delete(id);
        resolve(answer);
      };
      const timer = setTimeout(end, timeoutMs);
      this.#open.set(id, { node, end });
      const text = JSON.stringify({ value: question });
      if (!this.#send(node, { kind: Kind.question, id, text })) end();
    });
  }

  answerWith(answer: (question: unknown) => unknown): void {
    this.#answer = answer;
  }

  /** Takes what a node asks, or answers. */
  take(from: string, { kind, id, text }: TunnelFrame): void {
    const { value } = JSON.parse(text);
    if (kind === Kind.question) return void this.#reply(from, id, value);
    const open = this.#open.get(id);
    if (open?.node === from) open.end(value);
  }

  /**
   * Ends the questions to a node without an answer.
   *
   * @param node `undefined` for all nodes
   */
  end(node?: string): void {
    for (const open of [...this.#open.values()]) {
      if (node === undefined || open.node === node) open.end();
    }
  }

  async #reply(from: string, id: number, question: unknown): Promise<void> {
    const value = await this.#answerTo(question, from);
    const text = JSON.stringify({ value });
    const isTooLarge =
      Buffer.byteLength(text) > this.#parts.maxMessageBytes() - ENVELOPE_BYTES;
    if (isTooLarge) {
      log.warn(
        "An answer to the node {node} is not sent: it is larger than a message may be",
        { node: from },
      );
    }
    this.#send(from, { kind: Kind.reply, id, text: isTooLarge ? "{}" : text });
  }

  /** A large answer does not hold others up. */
  #send(
    node: string,
    head: { readonly kind: number; readonly id: number; readonly text: string },
  ): boolean {
    const stream = `operators ${head.id}`;
    return this.#parts.send(node, stream, [encodeHead({ ...head, stream: 0 })]);
  }

  async #answerTo(question: unknown, from: string): Promise<unknown> {
    try {
      return await this.#answer?.(question);
    } catch (error) {
      log.error("Cannot answer a question of the node {node}", {
        node: from,
        ...failure(error),
      });
      return undefined;
    }
  }
}
