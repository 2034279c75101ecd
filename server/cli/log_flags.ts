import { Option } from "commander";

/** Settings of the log. */
export interface LogSettings {
  /** The lowest level that is written. */
  readonly level: "debug" | "info" | "warning" | "error";
  /** Default: pretty on a terminal, JSON otherwise. */
  readonly format?: "json" | "pretty";
  /** File to append to, instead of stderr. */
  readonly file?: string;
}

/** Creates the options about the log. */
export const logOptions = (): Option[] => [
  new Option("--log-level <level>", "the least important events to log")
    .choices(["debug", "info", "warning", "error"]).default("info")
    .env("SMCP_LOG_LEVEL"),
  new Option(
    "--log-format <format>",
    "one line an event (default: pretty on a terminal, else json)",
  ).choices(["json", "pretty"]).env("SMCP_LOG_FORMAT"),
  new Option(
    "--log-file <file>",
    "add the log to this file instead of stderr, every line of it; SIGHUP opens it again",
  ).env("SMCP_LOG_FILE"),
];

/** Values of {@linkcode logOptions}. */
export interface LogFlags {
  readonly logLevel: LogSettings["level"];
  readonly logFormat?: "json" | "pretty";
  readonly logFile?: string;
}

/** Reads the values of {@linkcode logOptions}. */
export const readLog = (
  { logLevel, logFormat, logFile }: LogFlags,
): LogSettings => ({
  level: logLevel,
  ...(logFormat && { format: logFormat }),
  ...(logFile && { file: logFile }),
});
