import { plain, shorten, textWidth } from "../../../cli/terminal_text.ts";

/** The meaning of a text, which determines its look. */
export type Style = "good" | "bad" | "busy" | "dim" | "bold";

/** A part of a line. */
export type Span = readonly [text: string, style?: Style];

/** A line, with and without colours. */
export interface ScreenLine {
  /** Plain text, at most as wide as the terminal. */
  readonly text: string;
  /** The text with colour codes. */
  readonly coloured: string;
}

const STYLE_CODES: Readonly<Record<Style, number>> = {
  good: 32,
  bad: 31,
  busy: 33,
  dim: 2,
  bold: 1,
};

/** Styles a text, if colours are enabled. */
export const styled = (
  text: string,
  style: Style | undefined,
  colour: boolean,
): string =>
  colour && style && text !== ""
    ? `\x1b[${STYLE_CODES[style]}m${text}\x1b[0m`
    : text;

/** Joins spans to a line, truncated to the width; control characters are escaped. */
export function paint(
  spans: readonly Span[],
  { columns, colour }: { columns: number; colour: boolean },
): ScreenLine {
  let text = "";
  let coloured = "";
  for (const [span, style] of spans) {
    const rest = columns - textWidth(text);
    if (rest <= 0) break;
    const part = shorten(plain(span), rest);
    text += part;
    coloured += styled(part, style, colour);
  }
  return { text: text.trimEnd(), coloured };
}
