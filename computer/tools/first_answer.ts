import { onAbort } from "../../shared/async.ts";
import {
  type Confirm,
  type ConfirmAnswer,
  type Confirmed,
  type ConfirmRequest,
  toConfirmed,
} from "./confirm.ts";

/**
 * Asks at several places at the same time: the first answer wins, and withdraws the question from the others
 * with a reason such as `answered on "Pixel"`.
 *
 * A place that fails is left out; only where all fail, the question does. An answer that comes at once is
 * returned at once, and the places after it are not asked.
 */
export const firstAnswer = (...confirms: readonly Confirm[]): Confirm =>
(
  request,
  signal,
) => new Asking(request, signal).ask(confirms);

/** A question at several places. */
class Asking {
  readonly #request: ConfirmRequest;
  readonly #signal: AbortSignal;
  readonly #places: AbortController[] = [];

  constructor(request: ConfirmRequest, signal: AbortSignal) {
    this.#request = request;
    this.#signal = signal;
  }

  ask(confirms: readonly Confirm[]): ReturnType<Confirm> {
    const pending: Promise<Confirmed>[] = [];
    for (const confirm of confirms) {
      const answer = this.#askAt(confirm);
      if (!(answer instanceof Promise)) {
        const confirmed = toConfirmed(answer);
        this.#won(confirmed);
        return confirmed;
      }
      pending.push(answer.then(toConfirmed));
    }
    return this.#first(pending);
  }

  #askAt(confirm: Confirm): ReturnType<Confirm> {
    const place = new AbortController();
    this.#places.push(place);
    try {
      return confirm(this.#request, place.signal);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #first(
    pending: readonly Promise<Confirmed>[],
  ): Promise<ConfirmAnswer | Confirmed> {
    const off = onAbort(this.#signal, () => this.#end(this.#signal.reason));
    try {
      const confirmed = await Promise.any(pending);
      this.#won(confirmed);
      return confirmed;
    } catch (error) {
      throw error instanceof AggregateError ? error.errors[0] : error;
    } finally {
      off();
    }
  }

  #won({ by = "elsewhere" }: Confirmed): void {
    this.#end(`answered ${by}`);
  }

  #end(reason: unknown): void {
    for (const place of this.#places) place.abort(reason);
  }
}
