import process from "node:process";
import { isClosedOutput } from "./closed_output.ts";

/**
 * Runs work whose failure may surface outside of its promise: Deno throws a missing permission from
 * inside a socket of `node:net`.
 *
 * @returns what it resolves to; rejects with its reason, or with an error that was uncaught meanwhile
 */
export async function catchUncaught<T>(start: () => Promise<T>): Promise<T> {
  const uncaught = Promise.withResolvers<never>();
  process.once("uncaughtException", uncaught.reject);
  try {
    return await Promise.race([start(), uncaught.promise]);
  } finally {
    process.off("uncaughtException", uncaught.reject);
  }
}

/**
 * Keeps the process alive whatever error is left uncaught: what fails for one connection or MCP
 * server must not end the others.
 *
 * @param report takes each such error; not of an output that was closed, since a log would fail alike
 */
export function surviveUncaught(
  report: (
    error: unknown,
    kind: "uncaughtException" | "unhandledRejection",
  ) => void,
): void {
  for (const kind of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(kind, (error: unknown) => {
      if (!isClosedOutput(error)) report(error, kind);
    });
  }
}
