import { join } from "node:path";
import { answerOf, callOf, type Payload } from "./payloads.ts";

/** What the load generator sends, as files that it reads. */
export class Messages {
  readonly #folder: string;

  /** @param folder where the files are written */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Writes a call and its answer.
   *
   * @param params bytes of the text that the call's parameters hold
   */
  async filesOf(
    payload: Payload,
    params: number,
  ): Promise<{ call: string; answer: string }> {
    const answer = join(this.#folder, `answer-${payload.name}.json`);
    await Deno.writeTextFile(answer, answerOf(payload));
    const call = join(this.#folder, `call-${params}.json`);
    await Deno.writeTextFile(call, callOf("x".repeat(params)));
    return { call, answer };
  }
}
