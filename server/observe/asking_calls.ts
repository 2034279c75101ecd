import type { CallObserver } from "./watch_calls.ts";
import { agentName } from "../office/members.ts";
import type { Payload } from "../shared/payload.ts";
import {
  AGENT_GONE,
  ASKED,
  type CallEnd,
  UNANSWERED,
} from "../shared/audit.ts";
import type { QuestionFields } from "../../protocol/payloads/elicitation.ts";

/** How long the answer to a question is waited for: Computers wait for ten minutes. */
const ANSWER_TIMEOUT_MS = 11 * 60_000;
/** The most calls whose questions are open; the oldest ends for its observer. */
const MAX_OPEN = 10_000;

type Ended = ReturnType<CallObserver>;

/** A call that has asked its Agent. */
interface Asked {
  readonly ended: Ended;
  readonly timer: ReturnType<typeof setTimeout>;
}

/**
 * Shows calls that ask their Agent as one each: a question ends a request, and its answer is the next one
 * (protocol §7), which belongs to the same call.
 */
export class AskingCalls {
  readonly #observe: CallObserver;
  /** By what the next request of the call has; the oldest come first. */
  readonly #asked = new Map<string, Asked>();

  /** @param observe is called once for each call */
  constructor(observe: CallObserver) {
    this.#observe = observe;
  }

  /** Observes a request: a call, or the next part of one. */
  readonly observe: CallObserver = (call) => {
    const { agent, about } = call;
    const { accepts, request_state: state } = about as Partial<QuestionFields>;
    if (accepts === undefined) return this.#observe(call); // it cannot ask
    const place = `${
      JSON.stringify([agent.office, agentName(agent), about.computer])
    } `;
    const ended = typeof state === "string"
      ? this.#take(place + state)?.ended
      : undefined;
    return this.#part(place, ended ?? this.#observe(call));
  };

  /** Ends all calls whose questions have no answer. */
  close(): void {
    for (const key of this.#asked.keys()) this.#drop(key, AGENT_GONE);
  }

  /** A separate function, since the closure above uses the request. */
  #part(place: string, ended: Ended): Ended {
    return (answer, end) => {
      const state = end === ASKED ? stateOf(answer) : undefined;
      if (state === undefined) return ended(answer, end);
      this.#keep(place + state, ended);
    };
  }

  #keep(key: string, ended: Ended): void {
    this.#drop(key, UNANSWERED);
    for (const oldest of this.#asked.keys()) {
      if (this.#asked.size < MAX_OPEN) break;
      this.#drop(oldest, UNANSWERED);
    }
    const timer = setTimeout(
      () => this.#drop(key, UNANSWERED),
      ANSWER_TIMEOUT_MS,
    );
    this.#asked.set(key, { ended, timer });
  }

  #take(key: string): Asked | undefined {
    const asked = this.#asked.get(key);
    clearTimeout(asked?.timer);
    this.#asked.delete(key);
    return asked;
  }

  #drop(key: string, end: CallEnd): void {
    this.#take(key)?.ended(undefined, end);
  }
}

function stateOf(answer: Payload | undefined): string | undefined {
  const { requestState } = Object(answer?.peek());
  return typeof requestState === "string" ? requestState : undefined;
}
