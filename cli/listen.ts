import { reasonOf } from "../client/errors/reason.ts";
import { catchUncaught } from "./uncaught.ts";

/** An address to listen on, from the command line. */
export interface ListenFlags {
  /** Name or IP address. */
  readonly hostname: string;
  /** The port; 0 for any free one. */
  readonly port: number;
}

/**
 * Listens on an address of the command line, and explains failures in terms of its flags.
 *
 * @param listen starts listening
 * @param prefix the beginning of the flags of the address
 * @throws {Error} that names the cause and the flag to change
 */
export async function listenOrExplain<T>(
  listen: () => Promise<T>,
  { hostname, port }: ListenFlags,
  prefix: "--" | "--metrics-" | "--ui-" = "--",
): Promise<T> {
  try {
    return await catchUncaught(listen);
  } catch (error) {
    const { code }: { code?: unknown } = Object(error);
    const why = remedies(prefix)[String(code)] ?? reasonOf(error);
    throw new Error(`cannot listen on ${hostname} port ${port}: ${why}`, {
      cause: error,
    });
  }
}

function remedies(prefix: string): Readonly<Record<string, string>> {
  const notHere =
    `this machine does not have the address; choose one of its own with ${prefix}host`;
  return {
    EADDRINUSE:
      `the port is in use; choose another with ${prefix}port, or 0 for any`,
    EACCES:
      `no permission for this port; choose one from 1024 up with ${prefix}port`,
    EADDRNOTAVAIL: notHere,
    EINVAL: notHere,
    ENOTFOUND: `the host is unknown; correct ${prefix}host`,
  };
}
