/** A part of a picture. */
export type Svg = string;

/** Formats an element; omits attributes that are `undefined`. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | number | undefined>>,
  content: readonly Svg[] = [],
): Svg {
  const written = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [` ${key}="${escape(shown(value))}"`]
  ).join("");
  return content.length === 0
    ? `<${name}${written}/>`
    : `<${name}${written}>${content.join("")}</${name}>`;
}

/** Draws text at a point. */
export const text = (
  x: number,
  y: number,
  words: string,
  attributes: Readonly<Record<string, string | number>> = {},
): Svg => element("text", { x, y, ...attributes }, [escape(words)]);

/** Horizontal and vertical offset. */
export type Point = readonly [x: number, y: number];

/** Draws a line from one point to another. */
export const line = ([x1, y1]: Point, [x2, y2]: Point, kind: string): Svg =>
  element("line", { x1, y1, x2, y2, class: kind });

/** Formats the whole file, without a background, in colors that follow the reader's color scheme. */
export function picture(
  width: number,
  height: number,
  title: string,
  content: readonly Svg[],
): Svg {
  const attributes = {
    xmlns: "http://www.w3.org/2000/svg",
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
  };
  return element("svg", attributes, [
    "\n",
    element("title", {}, [escape(title)]),
    element("style", {}, [STYLE]),
    ...content.map((part) => `\n${part}`),
    "\n",
  ]) + "\n";
}

const STYLE = "text{font:12px system-ui,sans-serif;fill:#333}" +
  ".title{font-size:15px;font-weight:600}" +
  ".axis{stroke:#777}.grid{stroke:#8884}.goal{stroke:#d33;stroke-dasharray:5 4}" +
  ".goal-text{fill:#d33}" +
  "@media(prefers-color-scheme:dark){text{fill:#ddd}.axis{stroke:#999}.goal{stroke:#f66}.goal-text{fill:#f66}}";

/** Formats a number on an axis: 5000 as "5k", 0.25 unchanged. */
export function short(value: number): string {
  if (Math.abs(value) >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (Math.abs(value) >= 1e3) return `${Number((value / 1e3).toPrecision(3))}k`;
  return String(Number(value.toPrecision(3)));
}

const shown = (value: string | number) =>
  typeof value === "number" ? String(Number(value.toFixed(1))) : value;

const escape = (words: string) =>
  words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
