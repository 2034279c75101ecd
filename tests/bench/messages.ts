import { join } from "node:path";
import { answerOf, callOf, type Payload } from "./payloads.ts";

/** What the load generator sends, as files that it reads. */
export class Messages {
  readonly #folder: string;

  /** @param folder where the files are written */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** A small call to the Computer of a pair, and this answer. */
  async filesOf(payload: Payload): Promise<{ call: string; answer: string }> {
    const answer = join(this.#folder, `answer-${payload.name}.json`);
    await Deno.writeTextFile(answer, answerOf(payload));
    const call = join(this.#folder, "call.json");
    await Deno.writeTextFile(call, callOf("hello"));
    return { call, answer };
  }
}
