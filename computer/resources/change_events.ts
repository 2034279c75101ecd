import {
  type ServerEvent,
  UPDATE_DESKTOP_EVENT,
  UPDATE_FINDER_EVENT,
} from "../../protocol/mod.ts";
import { isDocument, isWindow } from "./listed_uri.ts";

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
