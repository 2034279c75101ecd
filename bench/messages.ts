import { join } from "node:path";
import { answerOf, callOf, type Payload } from "./payloads.ts";

/** Writes the messages of the load generator to files. */
export class Messages {
  readonly #folder: string;

  /** @param folder the folder for the files */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Writes a call and its answer.
   *
   * @param params bytes of text in the call's parameters
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
