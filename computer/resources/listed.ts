/**
 * Rules about listed resources: which are windows or documents, which changes are announced (spec
 * §8.5), and which MCP server has a host (spec §8.3).
 *
 * @module
 */
import { hideSecrets } from "../util/secrets.ts";
import {
  parseListedDpeUri,
  parseWindowUri,
  type Resource,
  type ServerEvent,
  UPDATE_DESKTOP_EVENT,
  UPDATE_FINDER_EVENT,
} from "../../protocol/mod.ts";

/** Checks whether a URI has the `window:` scheme; it may still be invalid. */
export const isWindow = (uri: unknown): uri is string =>
  typeof uri === "string" && /^window:/i.test(uri);

/** Checks whether a URI has the `dpe:` scheme; it may still be invalid. */
export const isDocument = (uri: unknown): uri is string =>
  typeof uri === "string" && /^dpe:/i.test(uri);

/** Quotes and shortens a listed URI of any content for the log. */
export const quoteUri = (uri: unknown): string => {
  const text = hideSecrets(JSON.stringify(uri) ?? "undefined");
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
};

/** Returns the identifying part of a `window://` or `dpe://` URI: without query and fragment (spec §8). */
export const identityOf = (uri: string): string => uri.replace(/[?#][^]*$/, "");

/** The windows and documents that an MCP server lists. */
export interface ListedUris {
  /** Its `window://` URIs. */
  readonly windows: ReadonlySet<string>;
  /** Its `dpe://` URIs. */
  readonly documents: ReadonlySet<string>;
}

/** A change that an MCP server reported, or that was found by listing. */
export type ResourceNotice =
  /** Its resources were listed: after a start, a stop (empty then), or `list_changed`. */
  | { readonly kind: "listed"; readonly uris: ListedUris }
  /** It reported new contents of a resource. */
  | { readonly kind: "updated"; readonly uri: string };

/** The lists of an MCP server that was not listed yet, or does not run. */
export const NO_URIS: ListedUris = { windows: new Set(), documents: new Set() };

/** Picks the windows and the documents out of a list of resources. */
export function listedUris(
  resources: readonly { readonly uri?: unknown }[],
): ListedUris {
  const uris = resources.map(({ uri }) => uri);
  return {
    windows: new Set(uris.filter(isWindow)),
    documents: new Set(uris.filter(isDocument)),
  };
}

/**
 * Decides which events to announce to the office (spec §8.5): a list only if its set of URIs
 * changed, new contents always.
 *
 * @param before the previous lists of the MCP server
 */
export function changeEvents(
  before: ListedUris,
  notice: ResourceNotice,
): ServerEvent[] {
  const [desktop, finder] = notice.kind === "updated"
    ? [isWindow(notice.uri), isDocument(notice.uri)]
    : [
      differ(before.windows, notice.uris.windows),
      differ(before.documents, notice.uris.documents),
    ];
  return [
    ...(desktop ? [UPDATE_DESKTOP_EVENT] as const : []),
    ...(finder ? [UPDATE_FINDER_EVENT] as const : []),
  ];
}

const differ = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size !== b.size || !a.isSubsetOf(b);

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
