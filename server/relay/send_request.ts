import { ErrorCode, toErrorPayload } from "../../protocol/mod.ts";
import { type Body, outlineOf } from "../wire/json_text.ts";
import type { Link } from "../wire/link.ts";

/** A request that a client has not answered yet. */
export interface Asked {
  /** Drops the answer, should it still come. */
  forget(): void;
  /** The answers so far that were not good enough to count; the best of them, if any. */
  best(): Body;
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
  payload: Body,
  answered: (answer: Body) => void,
): Asked {
  const [only, another] = names;
  if (only !== undefined && another === undefined) {
    const id = link.request(only, payload, answered);
    return { forget: () => link.forget(id), best: () => undefined };
  }
  const answers = new Map<string, Body>();
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

const isReal = (answer: Body): boolean =>
  typeof answer === "object" && answer !== null &&
  toErrorPayload(outlineOf(answer))?.code !== ErrorCode.BAD_REQUEST;

/** The event's own name comes first; an error says more than nothing. */
function best(
  names: readonly string[],
  answers: ReadonlyMap<string, Body>,
): Body {
  const given = names.map((name) => answers.get(name));
  return given.find((answer) => toErrorPayload(outlineOf(answer))) ?? given[0];
}
