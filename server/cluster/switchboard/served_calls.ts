import type { Desk } from "../../offices/exchange.ts";
import { errorPayloadOf } from "../../shared/error_payload.ts";
import type { Payload } from "../../wire/mod.ts";
import type { NodeMessage, Of } from "./messages.ts";
import { nodeBusy } from "./remote_calls.ts";

/** The calls that other nodes brought to Computers here, until they are answered. */
export class ServedCalls {
  readonly #forget = new Map<string, Map<number, () => void>>();

  /**
   * Has a Computer here answer a call.
   *
   * @param node whose Agent calls
   * @param reply sends to that node; returns whether it could
   */
  serve(
    desk: Pick<Desk, "serve">,
    node: string,
    { id, office, computer, to, from, event, reqId }: Of<"call">,
    payload: Payload,
    reply: (message: NodeMessage, payload?: Payload) => boolean,
  ): void {
    let ended = false;
    const end = (act: () => void): void => {
      ended = true;
      this.take(node, id);
      try {
        act();
      } catch (error) { // an answer that cannot be encoded again
        reply({ kind: "fail", id, error: errorPayloadOf(error) });
      }
    };
    const forget = desk.serve(
      { office, computer, socket: to, from, event, payload, reqId },
      {
        progress: (told) => void reply({ kind: "progress", id, told }),
        provisional: (answer) => void reply({ kind: "maybe", id }, answer),
        answered: (answer) =>
          end(() => {
            if (reply({ kind: "answer", id }, answer)) return;
            const error = nodeBusy(computer);
            reply({ kind: "fail", id, error });
          }),
        failed: (error) => end(() => void reply({ kind: "fail", id, error })),
      },
    );
    if (!ended) this.#add(node, id, forget);
  }

  /** Removes a call; returns how it is forgotten, if it has no answer yet. */
  take(node: string, id: number): (() => void) | undefined {
    const calls = this.#forget.get(node);
    const forget = calls?.get(id);
    calls?.delete(id);
    if (calls?.size === 0) this.#forget.delete(node);
    return forget;
  }

  /** Forgets the calls of a node: nobody there waits any more. */
  forget(node: string): void {
    const calls = this.#forget.get(node);
    this.#forget.delete(node);
    for (const forget of calls?.values() ?? []) forget();
  }

  /** Forgets all calls. */
  clear(): void {
    for (const node of [...this.#forget.keys()]) this.forget(node);
  }

  #add(node: string, id: number, forget: () => void): void {
    const calls = this.#forget.get(node) ?? new Map<number, () => void>();
    this.#forget.set(node, calls);
    calls.set(id, forget);
  }
}
