import type { LogRecord } from "@logtape/logtape";
import { TimeText } from "../shared/log.ts";

/** Formats an event as one line of JSON. */
export const jsonLine = (record: LogRecord): string => {
  const head = `{"time":"${
    timeOf(record)
  }","level":"${record.level}","logger":"${
    record.category.join(".")
  }","message":${JSON.stringify(messageOf(record))}`;
  const { properties } = record;
  // A replacer is called for every value and would dominate the cost.
  const replacer = hasObjects(properties) ? plain : undefined;
  const tail = JSON.stringify(properties, replacer).slice(1);
  return `${head}${tail === "}" ? "" : ","}${tail}\n`;
};

/** Formats an event as one line for people: `… WARNING audit: join_refused reason="…" office="north"`. */
export const prettyLine = (record: LogRecord): string => {
  const { level, category, properties, rawMessage } = record;
  // Fields that the message contains are not repeated behind it.
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

const times = new TimeText();

const timeOf = ({ timestamp }: LogRecord): string => times.of(timestamp);

function hasObjects(properties: Record<string, unknown>): boolean {
  for (const name in properties) {
    if (typeof properties[name] === "object") return true;
  }
  return false;
}

/** Formats a message, whose values are at odd positions. */
const messageOf = ({ message }: LogRecord): string =>
  message.length === 1
    ? String(message[0])
    : message.map((part, i) => i % 2 === 0 ? part : JSON.stringify(part, plain))
      .join("");

/** Replaces errors, which have no fields of their own in JSON. */
const plain = (_key: string, value: unknown): unknown =>
  value instanceof Error ? `${value.name}: ${value.message}` : value;

/** Escapes characters of clients that would control the terminal or end the line. */
const harmless = (line: string): string =>
  line.replaceAll(
    /[\p{Cc}\u2028\u2029]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
