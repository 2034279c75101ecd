/**
 * People with phones, who decide by what their phones show, and send again what was not delivered.
 *
 * @module
 */
import {
  type AskedQuestion,
  type News,
  type Pairing,
  poll,
  type Send,
  sendAnswer,
} from "../../../shared/approvals/device.ts";
import type { OptionId } from "../../../shared/approvals/question.ts";

/** How often a phone sends an answer that was not delivered. */
const TRIES = 3;

/** A person with a phone. */
export class TappingPerson {
  readonly #phone: Pairing;
  readonly #send: Send;
  readonly #decide: (question: AskedQuestion) => OptionId;
  readonly #answers: (question: AskedQuestion) => boolean;
  readonly #decided = new Map<string, OptionId>();
  #isOver = false;

  /**
   * @param decide returns the button, for each question once
   * @param answers whether the person answers a question at all; by default each
   */
  constructor(
    phone: Pairing,
    send: Send,
    decide: (question: AskedQuestion) => OptionId,
    answers: (question: AskedQuestion) => boolean = () => true,
  ) {
    this.#phone = phone;
    this.#send = send;
    this.#decide = decide;
    this.#answers = answers;
  }

  /** Answers all that the phone shows, until `stop()`. */
  async run(): Promise<void> {
    let have: string[] = [];
    while (!this.#isOver) {
      // After a failure it asks again, as the phone is looked at.
      const news = await this.#try(() =>
        poll(this.#phone, this.#send, { have, wait: 200 })
      );
      if (news === undefined) continue;
      have = news.questions.map(({ hash }) => hash);
      const first = news.questions.find(this.#answers);
      if (first === undefined) continue;
      await this.#answer(first, news);
      have = [];
    }
  }

  stop(): void {
    this.#isOver = true;
  }

  async #answer(question: AskedQuestion, news: News): Promise<void> {
    const { hash } = question;
    const option = this.#decided.get(hash) ?? this.#decide(question);
    this.#decided.set(hash, option);
    let { tick } = news;
    for (let i = 0; i < TRIES && !this.#isOver; i++) {
      const answer = { hash, option, tick };
      const said = await this.#try(() =>
        sendAnswer(this.#phone, this.#send, answer)
      );
      if (said !== undefined) return;
      const fresh = await this.#try(() => poll(this.#phone, this.#send));
      tick = fresh?.tick ?? tick;
    }
  }

  async #try<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch {
      return undefined;
    }
  }
}
