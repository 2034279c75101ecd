/**
 * A quick door that leaves everything to the app, in place of the real one: what passes both ways must be the
 * same.
 *
 * @module
 */
import type { Listener } from "../../../server/http/listen.ts";

/** Answers nothing. */
export class QuickDoor {
  /** Returns nothing: it has read no body. */
  bodyOf(): undefined {
    return undefined;
  }

  /** Leaves all to a listener. */
  readonly before = (next: Listener): Listener => next;
}
