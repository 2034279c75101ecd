import { plain, shorten, textWidth } from "../../../cli/terminal_text.ts";

/** What a piece of text means, and so what it looks like. */
export type Style = "good" | "bad" | "busy" | "dim" | "bold";

/** A piece of a line. */
export type Span = readonly [text: string, style?: Style];

/** A line: what is seen, and the same with its colours. */
export interface ScreenLine {
  /** As wide as the terminal at most. */
  readonly text: string;
  /** With colours. */
  readonly coloured: string;
}

const CODES: Readonly<Record<Style, number>> = {
  good: 32,
  bad: 31,
  busy: 33,
  dim: 2,
  bold: 1,
};

/** Gives a text its look, where there are colours. */
export const styled = (
  text: string,
  style: Style | undefined,
  colour: boolean,
): string =>
  colour && style && text !== "" ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text;

/** Makes a line of pieces, cut where it would be too wide; nothing in them acts on a terminal. */
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
