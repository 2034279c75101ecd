/** Placeholder that the load generator replaces by the request id; also in `load/template.h`. */
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
  /** One long text, or many small values. */
  readonly kind: "text" | "structured";
}

/** The answers that are measured. */
export const PAYLOADS: readonly Payload[] = [
  { name: "100", title: "100 B", bytes: 100, kind: "text" },
  { name: "10k", title: "10 KB", bytes: 10_000, kind: "text" },
  { name: "100k", title: "100 KB", bytes: 100_000, kind: "text" },
  {
    name: "100k-json",
    title: "100 KB structured",
    bytes: 100_000,
    kind: "structured",
  },
  { name: "1m", title: "1 MB", bytes: 1_000_000, kind: "text" },
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
  return kind === "structured" ? structuredAnswer(bytes) : textAnswer(bytes);
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

/** Resembles a line of a file that a tool has read. */
const LINE =
  'The quick brown fox said: "jump over the lazy dog", C:\\dogs\\lazy.\n';

function textAnswer(bytes: number): string {
  const answer = (text: string) =>
    JSON.stringify([{
      content: [{ type: "text", text: `${ID_PLACE} ${text}` }],
      isError: false,
    }]);
  const line = sizeOf(JSON.stringify(LINE)) - 2;
  const text = LINE.repeat(Math.max(0, bytes - sizeOf(answer(""))) / line);
  return padded(bytes, (padding) => answer(text + padding));
}

/** The number of rows is a multiple of this. */
const ROWS = 20;

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
  let rows = 0;
  while (sizeOf(answer(rows + ROWS, "")) <= bytes) rows += ROWS;
  return padded(bytes, (padding) => answer(rows, padding));
}

function padded(bytes: number, make: (padding: string) => string): string {
  return make(".".repeat(Math.max(0, bytes - sizeOf(make("")))));
}

const sizeOf = (text: string) => new TextEncoder().encode(text).length;
