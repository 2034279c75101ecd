import process from "node:process";
import { isClosedOutput } from "./output.ts";
import { reasonOf } from "../client/errors.ts";

/**
 * Listens on an address of the command line, and explains failures in terms of its flags.
 *
 * @param listen starts listening
 * @param prefix the beginning of the flags of the address
 * @throws {Error} that names the cause and the flag to change
 */
export async function listenOrExplain<T>(
  listen: () => Promise<T>,
  { hostname, port }: { readonly hostname: string; readonly port: number },
  prefix: "--" | "--metrics-" | "--ui-" = "--",
): Promise<T> {
  const notHere =
    `this machine does not have the address; choose one of its own with ${prefix}host`;
  const remedies: Readonly<Record<string, string>> = {
    EADDRINUSE:
      `the port is in use; choose another with ${prefix}port, or 0 for any`,
    EACCES:
      `no permission for this port; choose one from 1024 up with ${prefix}port`,
    EADDRNOTAVAIL: notHere,
    EINVAL: notHere,
    ENOTFOUND: `the host is unknown; correct ${prefix}host`,
  };
  // Deno reports a missing permission as an uncaught error of a socket of `node:net`.
  const uncaught = Promise.withResolvers<never>();
  process.once("uncaughtException", uncaught.reject);
  try {
    return await Promise.race([listen(), uncaught.promise]);
  } catch (error) {
    const why = remedies[Object(error).code] ?? reasonOf(error);
    throw new Error(`cannot listen on ${hostname} port ${port}: ${why}`, {
      cause: error,
    });
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
