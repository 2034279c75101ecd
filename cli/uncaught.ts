import process from "node:process";
import { isClosedOutput } from "./output/closed_output.ts";

/**
 * Runs work that may fail outside of its promise: Deno reports a missing permission as an uncaught
 * error of a socket of `node:net`.
 *
 * @returns its result; rejects with its reason, or with an uncaught error of that time
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
 * Keeps the process alive after uncaught errors: a failure of one connection or MCP server must not
 * end the others.
 *
 * @param report reports an error; not called for a closed output, to which reports would fail too
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
