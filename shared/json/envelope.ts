import { textEnd } from "./pieces.ts";
import { BACKSLASH, COMMA, isClosing, isOpening, QUOTE } from "./characters.ts";

/** What the ends of a JSON-RPC message show of it. */
export interface Envelope {
  /** Whether it begins as an object or a list does. */
  readonly isJson: boolean;
  /** Its id, if it is in one of the ends. */
  readonly id?: string | number;
  /** Its method, if it is in one of the ends. */
  readonly method?: string;
}

/**
 * Finds out what a JSON-RPC message is that is too long to be kept.
 *
 * Of both ends, the members of the outermost object are read that are whole; what is within other
 * members, such as an `id` in a result, does not count.
 *
 * @param head its beginning
 * @param tail its end
 */
export function envelopeOf(head: string, tail: string): Envelope {
  const { id, method } = { ...membersAfter(tail), ...membersBefore(head) };
  return {
    isJson: /^\ufeff?\s*[{[]/.test(head),
    ...((typeof id === "string" || typeof id === "number") && { id }),
    ...(typeof method === "string" && { method }),
  };
}

type Members = Readonly<Record<string, unknown>>;

/** Reads the first members of an object whose end is missing. */
function membersBefore(text: string): Members {
  const start = text.search(/[^\s\ufeff]/);
  let depth = 0;
  let end = -1;
  let isOpen = start >= 0;
  for (let at = start; isOpen && at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) at = textEnd(text, at);
    else if (isOpening(character)) depth++;
    else if (isClosing(character)) isOpen = --depth > 0; // another object may follow
    else if (character === COMMA && depth === 1) end = at;
  }
  return end === -1 ? {} : parsed(`${text.slice(start, end)}}`);
}

/** Reads the last members of an object whose beginning is missing. */
function membersAfter(text: string): Members {
  let depth = 0;
  let start = -1;
  for (let at = text.length - 1; at >= 0; at--) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) at = textStart(text, at);
    else if (isClosing(character)) depth++;
    else if (isOpening(character)) depth--;
    else if (character === COMMA && depth === 1) start = at;
  }
  return start === -1 ? {} : parsed(`{${text.slice(start + 1)}`);
}

/** Finds the opening quote of a text from its closing one; -1 where it is missing. */
function textStart(text: string, end: number): number {
  for (let at = end - 1; at >= 0; at--) {
    if (text.charCodeAt(at) !== QUOTE) continue;
    let before = at;
    while (text.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((at - before) % 2 === 0) return at;
  }
  return -1;
}

function parsed(text: string): Members {
  try {
    const value: unknown = JSON.parse(text);
    return Object(value);
  } catch {
    return {};
  }
}
