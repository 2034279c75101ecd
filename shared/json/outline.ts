import { countValues } from "./values.ts";
import { textEnd } from "./pieces.ts";
import { isClosing, isOpening, QUOTE } from "./characters.ts";

/** The most values of an outline. */
const MAX_VALUES = 200;

/**
 * Parses the outermost container of a JSON text, in which lists and objects are left empty: to find out
 * what a message is that is too large to be parsed. Takes time linear in the text, and little memory.
 *
 * @returns `undefined` where it is no list or object, or has many members
 */
export function outlineOf(
  text: string,
): unknown[] | Record<string, unknown> | undefined {
  let outline = "";
  let from = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) at = textEnd(text, at);
    else if (isOpening(character)) {
      if (++depth === 2) outline += text.slice(from, at + 1);
    } else if (isClosing(character) && --depth === 1) from = at;
  }
  outline += text.slice(from);
  if (countValues(outline, MAX_VALUES) > MAX_VALUES) return undefined;
  try {
    const parsed: unknown = JSON.parse(outline);
    const isContainer = typeof parsed === "object" && parsed !== null;
    return isContainer
      ? parsed as unknown[] | Record<string, unknown>
      : undefined;
  } catch {
    return undefined;
  }
}
