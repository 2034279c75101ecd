import { isPlainObject } from "../../protocol/validation.ts";

/** What a payload may have at most. */
export interface Bound {
  /** Bytes of JSON. */
  readonly bytes: number;
  /** Commas, colons and opening brackets outside of texts; absent where only bytes count. */
  readonly values?: number;
}

/** A payload of an event, as its sender sees it. */
export type Part = "request" | "answer" | "report";

/** The largest message of a Server's default configuration. */
export const MESSAGE_BYTES = 8 * 2 ** 20;

/** Room for what is around a payload in a message: the packet, the event's name, the id. */
const AROUND_BYTES = 256;

/** The bound of a message of any event. */
export const WHOLE_MESSAGE: Bound = {
  bytes: MESSAGE_BYTES - AROUND_BYTES,
};

/**
 * Returns the bound of an event's payload that a Server states in `/health`, at
 * `limits.events[event]`; a Server that states none lets in what fits in a message.
 *
 * @param health the JSON of `/health`
 */
export function boundOf(
  health: unknown,
  { event, part }: { readonly event: string; readonly part: Part },
): Bound {
  const of = memberOf(memberOf(memberOf(health, "limits"), "events"), event);
  const bound = memberOf(of, part === "answer" ? part : "request");
  const bytes = numberIn(bound, "bytes") ?? Infinity;
  const values = numberIn(bound, "values");
  return {
    bytes: Math.min(bytes, WHOLE_MESSAGE.bytes),
    ...(values !== undefined && { values }),
  };
}

const memberOf = (value: unknown, name: string): unknown =>
  isPlainObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

function numberIn(value: unknown, name: string): number | undefined {
  const found = memberOf(value, name);
  return typeof found === "number" ? found : undefined;
}
