import type { SeenEvent } from "../../shared/audit.ts";
import { listenToLog, type LogLine } from "../../shared/log.ts";
import { TokenBucket } from "../../shared/pending.ts";

/** Lines per second that are shown: those of a flood would push out all other events. */
const LINES_PER_SECOND = 50;
/** The longest message that is shown, in characters. */
const MAX_MESSAGE_CHARS = 2000;
/** The longest fields, as JSON. */
const MAX_FIELDS_CHARS = 8000;

type LogEvent = Extract<SeenEvent, { event: "log" }>;

/**
 * Shows the lines of the log as events, until the returned function is called. They belong to no
 * office: only operators of all offices see them.
 */
export function showLog(tell: (event: LogEvent) => void): () => void {
  const bucket = new TokenBucket(LINES_PER_SECOND, performance.now());
  let omitted = 0;
  return listenToLog((line) => {
    if (!bucket.take(performance.now())) return void omitted++;
    tell({ ...eventOf(line), ...(omitted > 0 && { omitted }) });
    omitted = 0;
  });
}

function eventOf({ level, message, fields }: LogLine): LogEvent {
  const text = jsonOf(fields);
  return {
    event: "log",
    level,
    message: message.replaceAll(
      /\{(\w+)\}/g,
      (place, name) =>
        Object.hasOwn(fields, name) ? jsonOf(fields[name]) ?? place : place,
    ).slice(0, MAX_MESSAGE_CHARS),
    ...(text !== undefined && text !== "{}" && text.length < MAX_FIELDS_CHARS &&
      { fields: JSON.parse(text) }),
  };
}

/** @returns `undefined` for what has no JSON */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(
      value,
      (_key, part) =>
        part instanceof Error ? `${part.name}: ${part.message}` : part,
    );
  } catch { // a circle, or a BigInt
    return undefined;
  }
}
