import { configureSync, type LogRecord, resetSync } from "@logtape/logtape";
import { prettyLine } from "../../server/cli/logging.ts";
import { jsonLine } from "../../server/shared/log.ts";

/** Everything that is logged while it is active. */
export interface LogCapture extends Disposable {
  /** Every event, in order. */
  readonly records: readonly LogRecord[];
  /** The events of the audit log: their fields without time and the like. */
  readonly audit: readonly Record<string, unknown>[];
  /** The whole log as the server's command writes it, in both formats. */
  readonly text: string;
}

/** Captures the logs of all libraries, at all levels. */
export function captureLog(): LogCapture {
  const records: LogRecord[] = [];
  configureSync({
    reset: true,
    sinks: { memory: (record) => void records.push(record) },
    loggers: [{ category: [], lowestLevel: "trace", sinks: ["memory"] }],
  });
  return {
    records,
    get audit() {
      return records.filter(({ category }) => category.at(-1) === "audit")
        .map(({ message, properties }) => ({
          event: message.join(""),
          ...properties,
        }));
    },
    get text() {
      return records.map((r) => jsonLine(r) + prettyLine(r)).join("");
    },
    [Symbol.dispose]: resetSync,
  };
}
