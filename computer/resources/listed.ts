/**
 * Rules about listed resources: which are windows or documents, which changes are announced (spec
 * §8.5), and which MCP server has a host (protocol §8.3).
 *
 * @module
 */
import { isRecord } from "../../protocol/names.ts";
import { hideSecrets } from "../util/secrets.ts";
import {
  parseListedDpeUri,
  parseWindowUri,
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

/** Quotes and shortens a listed value of any content for the log. */
export const quote = (value: unknown, most = 200): string => {
  const text = hideSecrets(JSON.stringify(value) ?? "undefined");
  return text.length > most ? `${text.slice(0, most)}…` : text;
};

/** Returns the fields of listed metadata; none where it is not an object. */
export const fieldsOf = (value: unknown): Record<string, unknown> =>
  isRecord(value) ? value : {};

/** Checks whether a field is there: null counts as absent. */
export const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null;

/** Returns the identifying part of a `window://` or `dpe://` URI: without query and fragment (protocol §8). */
export const withoutQuery = (uri: string): string =>
  uri.replace(/[?#][^]*$/, "");

/** The windows and documents that an MCP server lists. */
export interface ListedUris {
  /** Its `window://` URIs. */
  readonly windows: ReadonlySet<string>;
  /** Its `dpe://` URIs. */
  readonly documents: ReadonlySet<string>;
}

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
 * Decides which events to announce to the office (protocol §8.5): those of the lists whose set of URIs
 * changed.
 *
 * @param before the previous lists of the MCP server; {@linkcode NO_URIS} for new contents
 * @param after its lists now, or the URI of the new contents
 */
export const changeEvents = (
  before: ListedUris,
  after: ListedUris,
): ServerEvent[] => [
  ...differ(before.windows, after.windows)
    ? [UPDATE_DESKTOP_EVENT] as const
    : [],
  ...differ(before.documents, after.documents)
    ? [UPDATE_FINDER_EVENT] as const
    : [],
];

const differ = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size !== b.size || !a.isSubsetOf(b);

/** The hosts that an MCP server uses; windows and documents share one namespace (protocol §8.1, §8.3). */
export interface HostClaims {
  /** The MCP server. */
  readonly server: string;
  /** Hosts of its windows. */
  readonly windows: ReadonlySet<string>;
  /** Hosts of its documents. */
  readonly documents: ReadonlySet<string>;
}

/** Collects the hosts of an MCP server's windows and documents; invalid URIs are skipped. */
export const hostClaims = (
  server: string,
  { windows, documents }: ListedUris,
): HostClaims => ({
  server,
  windows: hosts(windows, (uri) => parseWindowUri(uri).uri.host),
  documents: hosts(documents, (uri) => parseListedDpeUri(uri).uri.host),
});

function hosts(
  uris: ReadonlySet<string>,
  hostOf: (uri: string) => string,
): ReadonlySet<string> {
  const hosts = new Set<string>();
  for (const uri of uris) {
    try {
      hosts.add(hostOf(uri));
    } catch {
      // invalid
    }
  }
  return hosts;
}

/**
 * Describes each host that more than one MCP server uses, in one sentence (protocol §8.1, §8.3).
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
 * Finds the MCP servers of a document's host: those that list documents of it, then those that list
 * only windows of it; the document is read from the first (protocol §8.3).
 *
 * @param claims in the order in which the servers were registered
 */
export const routeHost = (
  claims: readonly HostClaims[],
  host: string,
): string[] =>
  [
    ...claims.filter(({ documents }) => documents.has(host)),
    ...claims.filter(({ windows, documents }) =>
      windows.has(host) && !documents.has(host)
    ),
  ].map(({ server }) => server);
