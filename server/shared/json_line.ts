import type { LogRecord } from "@logtape/logtape";
import { TimeText } from "./log.ts";

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

const times = new TimeText();

/** Returns the time of an event. */
export const timeOf = ({ timestamp }: LogRecord): string => times.of(timestamp);

function hasObjects(properties: Record<string, unknown>): boolean {
  for (const name in properties) {
    if (typeof properties[name] === "object") return true;
  }
  return false;
}

/** Formats a message, whose values are at odd positions. */
export const messageOf = ({ message }: LogRecord): string =>
  message.length === 1
    ? String(message[0])
    : message.map((part, i) => i % 2 === 0 ? part : JSON.stringify(part, plain))
      .join("");

/** Replaces errors, which have no fields of their own in JSON. */
export const plain = (_key: string, value: unknown): unknown =>
  value instanceof Error ? `${value.name}: ${value.message}` : value;
