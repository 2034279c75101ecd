/**
 * The payloads of an attack: JSON of one shape, as large as a bound lets in.
 *
 * @module
 */
import { countValues } from "../../shared/json/values.ts";

/** The most that a payload may have. */
export interface Bound {
  /** Bytes of JSON. */
  readonly bytes: number;
  /** Commas, colons and opening brackets outside of texts; absent where only bytes count. */
  readonly values?: number;
}

/** JSON that repeats one item; `item` returns texts of equal length in bytes. */
interface Pattern {
  readonly open: string;
  readonly close: string;
  item(index: number): string;
  /** Between two items; a text has none. */
  readonly between: "," | "";
  /** The largest number of items. */
  readonly most?: number;
}

/** Where a shape is in a payload. */
export interface Place {
  /** The other members of the payload. */
  readonly base: Readonly<Record<string, unknown>>;
  /** The member that has the shape. */
  readonly field: string;
}

/** Brackets around one another: the Server's limit, less those of packet, payload, shape. */
const DEPTH = 60;

/** The first of numbers that have equally many digits. */
const FIRST = 1_000_000;

const list = (item: string, open = "[", close = "]"): Pattern => ({
  open,
  close,
  item: () => item,
  between: ",",
});

const text = (item: string, open = '"', close = '"'): Pattern => ({
  open,
  close,
  item: () => item,
  between: "",
});

const map = (prefix: string, value: string): Pattern => ({
  open: "{",
  close: "}",
  item: (index) => `"${prefix}${FIRST + index}":${value}`,
  between: ",",
});

const PATTERNS = {
  /** Empty objects. */
  objects: list("{}"),
  /** Nested to the limit of depth. */
  deep: list("[".repeat(DEPTH) + "]".repeat(DEPTH)),
  /** An object of many members. */
  keys: map("k", "0"),
  /** A text of escapes. */
  escapes: text("\\u0041"),
  /** Numbers that take more time to read than others. */
  numbers: list("1e300"),
  /** One long text. */
  text: text("a"),
  /** As many empty objects as are translated for another version. */
  items: { ...list("{}"), most: 9_999 },
  /** MCP servers of a configuration, each with another name. */
  servers: map("s", "{}"),
  /** As many of them as are translated. */
  named: { ...map("s", "{}"), most: 999 },
  /** One MCP server with a long name. */
  name: text("n", '{"', '":{}}'),
  /** Tools whose names have no letter that every client takes, so that they become one. */
  tools: { ...list(""), item: toolOf, most: 46_000 },
  /** Options of an input, which get labels in the translation. */
  options: list(
    '""',
    '[{"type":"pickString","id":"i","description":"","options":[',
    "]}]",
  ),
  /** Details of an error, which is read whole. */
  details: list("{}", '{"x":[', "]}"),
} satisfies Record<string, Pattern>;

/** The name of a shape. */
export type Shape = keyof typeof PATTERNS;

/** The shapes that any payload may have in a member that no version defines. */
export const ANYWHERE: readonly Shape[] = [
  "objects",
  "deep",
  "keys",
  "escapes",
  "numbers",
  "text",
];

/** Those of them that take the Server most time and memory. */
export const WORST: readonly Shape[] = ["objects", "deep"];

const DIGITS = 10;
const LETTERS_FROM = 0x4e00;

/** A tool with a name of Chinese letters, which is its number. */
function toolOf(index: number): string {
  const name = Array.from(
    String(FIRST + index),
    (digit) => String.fromCharCode(LETTERS_FROM + Number(digit) % DIGITS),
  ).join("");
  return `{"name":"${name}","description":"","params_schema":{},` +
    `"return_schema":null,"meta":{"a2c_mcp_server":"${name}"}}`;
}

/** Returns the payload of a shape that has as many items as the bound lets in. */
export function payloadOf(
  shape: Shape,
  { base, field }: Place,
  bound: Bound,
): string {
  const { [field]: _, ...others } = base;
  // The member is the last one: `0}` is cut off.
  const head = JSON.stringify({ ...others, [field]: 0 }).slice(0, -2);
  const pattern = PATTERNS[shape];
  return head + textOf(pattern, {
    bytes: bound.bytes - bytesOf(head) - 1,
    values: (bound.values ?? Infinity) - countValues(head),
  }) + "}";
}

function textOf(pattern: Pattern, room: Required<Bound>): string {
  const { open, close, between } = pattern;
  const item = pattern.item(0) + between;
  const itemBytes = bytesOf(item);
  const values = countValues(item);
  const left = room.values - countValues(open + close);
  const fit = Math.floor(
    (room.bytes - bytesOf(open + close) + between.length) / itemBytes,
  );
  const counted = values === 0 ? Infinity : Math.floor(left / values);
  const most: number = pattern.most ?? Infinity;
  const count = Math.max(0, Math.min(fit, counted, most));
  return open + itemsOf(pattern, count) + close;
}

function itemsOf(pattern: Pattern, count: number): string {
  const { item, between } = pattern;
  if (count === 0) return "";
  if (item(0) === item(1)) {
    return (item(0) + between).repeat(count - 1) + item(0);
  }
  return Array.from({ length: count }, (_, index) => item(index)).join(between);
}

const bytesOf = (text: string) => new TextEncoder().encode(text).length;
