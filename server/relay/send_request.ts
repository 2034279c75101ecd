import { ErrorCode, toErrorPayload } from "../../protocol/mod.ts";
import type { Link, Payload } from "../wire/mod.ts";

/** A request that a client has not answered yet. */
export interface Asked {
  /** Drops the answer, should it still come. */
  forget(): void;
  /** The answers so far that were not good enough to count; the best of them, if any. */
  best(): Payload | undefined;
}

/**
 * Sends a request under every name that the client may know it by (spec §12); the first real
 * answer counts. A client that does not know a name answers with nothing or with 400, or not at
 * all, so those count only when nothing better comes.
 *
 * @param answered called once, unless the request is forgotten
 */
export function ask(
  link: Link,
  names: readonly string[],
  payload: Payload,
  answered: (answer: Payload | undefined) => void,
): Asked {
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
      if (!real && answers.size < names.length) return;
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

/** The event's own name comes first; an error says more than nothing. */
function best(
  names: readonly string[],
  answers: ReadonlyMap<string, Payload | undefined>,
): Payload | undefined {
  const given = names.map((name) => answers.get(name));
  return given.find((answer) => toErrorPayload(answer?.peek())) ?? given[0];
}
