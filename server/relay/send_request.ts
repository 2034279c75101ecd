import { ErrorCode, toErrorPayload } from "../../protocol/mod.ts";
import type { Link, Payload } from "../wire/mod.ts";

/** A request that a client has not answered yet. */
export interface SentRequest {
  /** Ignores a late answer. */
  forget(): void;
  /** Returns the best provisional answer so far, if any. */
  best(): Payload | undefined;
}

/**
 * Sends a request under every event name that the client may know (spec §12); the first real answer
 * counts. An empty ack and 400 are provisional: they may mean that the client does not know the name,
 * and count only if nothing better arrives.
 *
 * @param answered called once, unless the request is forgotten
 * @param provisional called with the best answer so far, when there is another one
 */
export function sendRequest(
  link: Link,
  names: readonly string[],
  payload: Payload,
  answered: (answer: Payload | undefined) => void,
  provisional?: (answer: Payload | undefined) => void,
): SentRequest {
  const [only, another] = names;
  if (only !== undefined && another === undefined) {
    const id = link.request(only, payload, answered);
    return { forget: () => link.forget(id), best: () => undefined };
  }
  const answers = new Map<string, Payload | undefined>();
  const ids: number[] = [];
  const forget = () => ids.forEach((id) => link.forget(id));
  for (const name of names) {
    ids.push(link.request(name, payload, (answer) => {
      answers.set(name, answer);
      const real = isReal(answer);
      if (!real && answers.size < names.length) {
        return provisional?.(best(names, answers));
      }
      forget();
      answered(real ? answer : best(names, answers));
    }));
  }
  return { forget, best: () => best(names, answers) };
}

function isReal(answer: Payload | undefined): boolean {
  const seen = answer?.peek();
  return typeof seen === "object" && seen !== null &&
    toErrorPayload(seen)?.code !== ErrorCode.BAD_REQUEST;
}

/** Prefers an error to no answer, and the event's own name to its aliases. */
function best(
  names: readonly string[],
  answers: ReadonlyMap<string, Payload | undefined>,
): Payload | undefined {
  const given = names.map((name) => answers.get(name));
  return given.find((answer) => toErrorPayload(answer?.peek())) ?? given[0];
}
