import { Option } from "commander";
import { integer } from "../../cli/integer.ts";
import { loadPackages } from "../../shared/packages.ts";
import { createMetrics } from "../observe/prometheus.ts";
import type { SmcpServerOptions } from "../options.ts";

/** Settings of metrics and traces. */
export interface ObserveSettings {
  /** Whether metrics are collected. */
  readonly metrics: boolean;
  /** Address of a separate port for metrics, if any. */
  readonly listen?: { readonly hostname: string; readonly port: number };
  /** Whether calls are traced. */
  readonly tracing: boolean;
}

/** Creates the options about metrics and traces. */
export const observeOptions = (): Option[] => [
  new Option(
    "--metrics",
    "serve /metrics to those that may connect; without authentication to this machine alone",
  ).env("SMCP_METRICS"),
  new Option(
    "--metrics-port <number>",
    "serve /metrics on a port of its own, to whoever reaches it",
  ).env("SMCP_METRICS_PORT").argParser(integer(0, 65535)),
  new Option("--metrics-host <address>", "address of that port")
    .default("127.0.0.1").env("SMCP_METRICS_HOST"),
  new Option(
    "--tracing",
    "make OpenTelemetry spans of calls; Deno exports them with OTEL_DENO=true",
  ).env("SMCP_TRACING"),
];

/** Values of {@linkcode observeOptions}. */
export interface ObserveFlags {
  readonly metrics?: true;
  readonly metricsPort?: number;
  readonly metricsHost: string;
  readonly tracing?: true;
}

/** Reads the values of {@linkcode observeOptions}. */
export const readObserve = (
  { metrics, metricsPort, metricsHost, tracing }: ObserveFlags,
): ObserveSettings => ({
  metrics: metrics === true || metricsPort !== undefined,
  ...(metricsPort !== undefined && {
    listen: { hostname: metricsHost, port: metricsPort },
  }),
  tracing: tracing === true,
});

/** Loads only the enabled observers. */
export async function loadObservers(
  { metrics, tracing }: ObserveSettings,
): Promise<Pick<SmcpServerOptions, "metrics" | "tracer">> {
  return {
    ...(metrics && { metrics: createMetrics() }),
    ...(tracing && {
      tracer: (await loadOpenTelemetry()).trace.getTracer("@a2c-smcp/sdk"),
    }),
  };
}

const loadOpenTelemetry = (): Promise<typeof import("@opentelemetry/api")> =>
  loadPackages(
    "trace",
    ["@opentelemetry/api"],
    () => import("@opentelemetry/api"),
  );

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
