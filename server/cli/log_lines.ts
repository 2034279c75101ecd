import type { LogRecord } from "@logtape/logtape";

/** Writes an event as one line of JSON. */
export const jsonLine = (record: LogRecord): string => {
  const head = `{"time":"${
    timeOf(record)
  }","level":"${record.level}","logger":"${
    record.category.join(".")
  }","message":${JSON.stringify(messageOf(record))}`;
  const { properties } = record;
  // A replacer is called for every value, and costs more than all the rest.
  const replacer = hasObjects(properties) ? plain : undefined;
  const tail = JSON.stringify(properties, replacer).slice(1);
  return `${head}${tail === "}" ? "" : ","}${tail}\n`;
};

/** Writes an event as one line for people: `… WARNING audit: join_refused reason="…" office="north"`. */
export const prettyLine = (record: LogRecord): string => {
  const { level, category, properties, rawMessage } = record;
  // What stands in the message is not said again behind it.
  const isTold = (key: string) =>
    typeof rawMessage === "string" && rawMessage.includes(`{${key}}`);
  const fields = Object.entries(properties)
    .filter(([key, value]) => value !== undefined && !isTold(key))
    .map(([key, value]) => ` ${key}=${JSON.stringify(value, plain)}`);
  const line = `${timeOf(record)} ${level.toUpperCase()} ${category.at(-1)}: ${
    messageOf(record)
  }${fields.join("")}`;
  return `${harmless(line)}\n`;
};

let written = { timestamp: NaN, text: "" };

/** Many lines belong to the same millisecond. */
function timeOf({ timestamp }: LogRecord): string {
  if (timestamp !== written.timestamp) {
    written = { timestamp, text: new Date(timestamp).toISOString() };
  }
  return written.text;
}

function hasObjects(properties: Record<string, unknown>): boolean {
  for (const name in properties) {
    if (typeof properties[name] === "object") return true;
  }
  return false;
}

/** Values stand at the odd places of a message. */
const messageOf = ({ message }: LogRecord): string =>
  message.length === 1
    ? String(message[0])
    : message.map((part, i) => i % 2 === 0 ? part : JSON.stringify(part, plain))
      .join("");

/** Errors have no fields of their own for JSON. */
const plain = (_key: string, value: unknown): unknown =>
  value instanceof Error ? `${value.name}: ${value.message}` : value;

/** What clients send must not reach a terminal as a command, or end the line. */
const harmless = (line: string): string =>
  line.replaceAll(
    /[\p{Cc}\u2028\u2029]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
