import {
  parseListedDpeUri,
  parseWindowUri,
  type Resource,
} from "../../protocol/mod.ts";
import { isDocument, isWindow } from "./listed_uri.ts";

/** The hosts that an MCP server uses; windows and documents share one namespace (spec §8.1, §8.3). */
export interface HostClaims {
  /** The MCP server. */
  readonly server: string;
  /** Hosts of its windows. */
  readonly windows: ReadonlySet<string>;
  /** Hosts of its documents. */
  readonly documents: ReadonlySet<string>;
}

/** The MCP server that the documents of a host are read from. */
export interface HostRoute {
  /** The MCP server. */
  readonly server: string;
  /** Other servers that use the host, for a warning in the log. */
  readonly passedOver: readonly string[];
}

/** Collects the hosts of an MCP server's resources; invalid URIs are skipped. */
export function hostClaims(
  server: string,
  resources: readonly Resource[],
): HostClaims {
  const uris = resources.map(({ uri }) => uri);
  return {
    server,
    windows: new Set(
      uris.filter(isWindow).flatMap((uri) =>
        hostOf(() => parseWindowUri(uri).uri.host)
      ),
    ),
    documents: new Set(
      uris.filter(isDocument).flatMap((uri) =>
        hostOf(() => parseListedDpeUri(uri).uri.host)
      ),
    ),
  };
}

/**
 * Describes each host that more than one MCP server uses, in one sentence (spec §8.1, §8.3).
 *
 * @param claims in the order in which the servers were registered
 */
export function hostClashes(claims: readonly HostClaims[]): string[] {
  const users = new Map<string, string[]>();
  for (const { server, windows, documents } of claims) {
    for (const host of windows.union(documents)) {
      users.set(host, [...users.get(host) ?? [], `"${server}"`]);
    }
  }
  return [...users]
    .filter(([, servers]) => servers.length > 1)
    .map(([host, servers]) =>
      `Host "${host}" is used by the MCP servers ${
        servers.join(" and ")
      }; its documents are read from the first; give each server a host of its own`
    );
}

/**
 * Finds the MCP server of a document: the first registered one that lists documents of its host,
 * else the first that lists windows of it (spec §8.3).
 *
 * @param claims in the order in which the servers were registered
 */
export function routeHost(
  claims: readonly HostClaims[],
  host: string,
): HostRoute | undefined {
  const users = [
    ...claims.filter(({ documents }) => documents.has(host)),
    ...claims.filter(({ windows, documents }) =>
      windows.has(host) && !documents.has(host)
    ),
  ];
  const [first, ...others] = users.map(({ server }) => server);
  return first === undefined
    ? undefined
    : { server: first, passedOver: others };
}

function hostOf(read: () => string): string[] {
  try {
    return [read()];
  } catch {
    return [];
  }
}
