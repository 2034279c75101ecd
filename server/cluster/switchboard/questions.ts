import { failure, log } from "../../shared/log.ts";
import type { OtherNodes } from "../../shared/other_nodes.ts";
import { encodeMessage, type NodeMessage, type Of } from "./messages.ts";

/** The parts of a node that {@linkcode Questions} needs. */
export interface QuestionsParts {
  /** The nodes that can be asked. */
  peers(): ReadonlySet<string>;
  /** The largest message that a node takes, in bytes. */
  maxMessageBytes(): number;
  /** Sends a message; those of one stream arrive in order. Returns whether it is on its way. */
  send(node: string, stream: string, message: NodeMessage): boolean;
}

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
      const isSent = this.#parts.send(
        node,
        streamOf(id),
        { kind: "question", id, question },
      );
      if (!isSent) end();
    });
  }

  answerWith(answer: (question: unknown) => unknown): void {
    this.#answer = answer;
  }

  /** Takes what a node has asked, or told. */
  take(from: string, message: Of<"question" | "reply">): void {
    if (message.kind === "question") return void this.#reply(from, message);
    const open = this.#open.get(message.id);
    if (open?.node === from) open.end(message.reply);
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

  async #reply(from: string, { id, question }: Of<"question">): Promise<void> {
    const reply: NodeMessage = {
      kind: "reply",
      id,
      reply: await this.#answerTo(question, from),
    };
    const { send, maxMessageBytes } = this.#parts;
    const isTooLarge = encodeMessage(reply)
      .reduce((size, part) => size + part.byteLength, 0) > maxMessageBytes();
    if (isTooLarge) {
      log.warn(
        "An answer to the node {node} is not sent: it is larger than a message may be",
        { node: from },
      );
    }
    send(from, streamOf(id), isTooLarge ? { kind: "reply", id } : reply);
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

/** A large answer does not hold others up. */
const streamOf = (id: number): string => `operators ${id}`;
