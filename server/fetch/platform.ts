import type { UpgradeWebSocket } from "../wire/fetch/mod.ts";

/** What the platform tells about a request beside it, such as `Deno.ServeHandlerInfo`. */
export interface FetchInfo {
  /** The other end of the connection. */
  readonly remoteAddr: {
    /** `tcp`, or `unix` for a socket of this machine. */
    readonly transport: string;
    /** The address, of TCP. */
    readonly hostname?: string;
  };
}

/**
 * Returns the platform's function for WebSockets, `Deno.upgradeWebSocket`.
 *
 * @throws {TypeError} on a platform without it
 */
export function platformUpgrade(): UpgradeWebSocket {
  // Not a use of the Deno global, which Node lacks: a look whether there is one.
  const runtime: unknown = Reflect.get(globalThis, "Deno");
  const upgrade: unknown = runtime instanceof Object
    ? Reflect.get(runtime, "upgradeWebSocket")
    : undefined;
  if (isUpgrade(upgrade)) return upgrade;
  throw new TypeError(
    "Cannot serve by fetch on this platform: it has no Deno.upgradeWebSocket, as Deno and Deno Deploy have; on Node and Bun use createSmcpServer() of @a2c-smcp/sdk/server, with listen()",
  );
}

const isUpgrade = (value: unknown): value is UpgradeWebSocket =>
  typeof value === "function";

/** Returns the address of the other end; a Unix socket is one of this machine, empty is unknown. */
export const peerOf = (info: FetchInfo | undefined): string => {
  const { transport, hostname } = info?.remoteAddr ?? {};
  return transport?.startsWith("unix") ? "localhost" : hostname ?? "";
};
