/** Placeholder that the load generator replaces by the request id; also in `load/connection/template.h`. */
export const ID_PLACE = "@".repeat(12);

/** Placeholder that the load generator replaces by the number of a pair. */
export const PAIR_PLACE = "#".repeat(5);

/** An answer of a Computer, as the arguments of an ack. */
export interface Payload {
  /** Its name on the command line. */
  readonly name: string;
  /** Its name in tables. */
  readonly title: string;
  /** Its size in bytes of JSON. */
  readonly bytes: number;
  /** One long text of ASCII, one with letters of other scripts, or many small values. */
  readonly kind: "ascii" | "text" | "structured";
}

/** The answers that are measured. */
export const PAYLOADS: readonly Payload[] = [
  { name: "100", title: "100 B", bytes: 100, kind: "ascii" },
  { name: "10k", title: "10 KB", bytes: 10_000, kind: "ascii" },
  { name: "100k", title: "100 KB", bytes: 100_000, kind: "ascii" },
  {
    name: "100k-json",
    title: "100 KB structured",
    bytes: 100_000,
    kind: "structured",
  },
  { name: "1m", title: "1 MB", bytes: 1_000_000, kind: "ascii" },
  {
    name: "100k-text",
    title: "100 KB non-ASCII",
    bytes: 100_000,
    kind: "text",
  },
  { name: "1m-text", title: "1 MB non-ASCII", bytes: 1_000_000, kind: "text" },
];

/**
 * Returns an answer by its name.
 *
 * @throws {RangeError} for an unknown name
 */
export function payloadOf(name: string): Payload {
  const payload = PAYLOADS.find((payload) => payload.name === name);
  if (payload) return payload;
  throw new RangeError(
    `Unknown size "${name}", expected one of ${
      PAYLOADS.map(({ name }) => name).join(", ")
    }`,
  );
}

/** The JSON of an ack's arguments with a `CallToolResult`, of exactly `bytes` bytes in UTF-8. */
export function answerOf({ bytes, kind }: Payload): string {
  if (kind === "structured") return structuredAnswer(bytes);
  return textAnswer(bytes, kind === "ascii" ? ASCII_LINE : LINE);
}

/** The JSON of an event's arguments with a call of a tool of the pair's Computer. */
export function callOf(text: string): string {
  const call = {
    agent: `agent-${PAIR_PLACE}`,
    req_id: ID_PLACE,
    computer: `computer-${PAIR_PLACE}`,
    tool_name: "echo",
    params: { text },
    timeout: 30,
  };
  return JSON.stringify(["client:tool_call", call]);
}

// Resembles a file that a tool has read: mostly ASCII, with lines, quotes and some other scripts.
const ASCII_LINE =
  'The quick brown fox said: "jump over the lazy dog", C:\\dogs\\lazy.\n';
const LINE = ASCII_LINE +
  "Der Größe nach sortiert; 寓言里的狐狸跳过了懒狗。🦊\tfin\n";

function textAnswer(bytes: number, lines: string): string {
  const answer = (text: string) =>
    JSON.stringify([{
      content: [{ type: "text", text: `${ID_PLACE} ${text}` }],
      isError: false,
    }]);
  const line = sizeOf(JSON.stringify(lines)) - 2;
  const text = lines.repeat(Math.max(0, bytes - sizeOf(answer(""))) / line);
  return padded(bytes, (padding) => answer(text + padding));
}

function structuredAnswer(bytes: number): string {
  const row = (i: number) => ({
    id: i,
    name: `item-${i}`,
    price: i * 7919 % 10_000 / 100,
    active: i % 3 === 0,
    parent: i % 5 === 0 ? null : i - 1,
    tags: ["red", "green", "blue"].slice(i % 3),
  });
  const answer = (rows: number, padding: string) =>
    JSON.stringify([{
      content: [{ type: "text", text: ID_PLACE }],
      structuredContent: {
        rows: Array.from({ length: rows }, (_, i) => row(i)),
        padding,
      },
      isError: false,
    }]);
  let fits = 0;
  let tooMany = bytes;
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (sizeOf(answer(middle, "")) <= bytes) fits = middle;
    else tooMany = middle;
  }
  return padded(bytes, (padding) => answer(fits, padding));
}

function padded(bytes: number, make: (padding: string) => string): string {
  return make(".".repeat(Math.max(0, bytes - sizeOf(make("")))));
}

const sizeOf = (text: string) => new TextEncoder().encode(text).length;
