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

/** What was heard of an MCP server. */
export type ResourceNotice =
  /** Its resources were listed again: after a start, a loss (none then), or `list_changed`. */
  | { readonly kind: "listed"; readonly uris: ListedUris }
  /** It said that a resource has other contents. */
  | { readonly kind: "updated"; readonly uri: string };

/** What an MCP server lists before it is asked, and when it is gone. */
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
 * Decides what the office is told after a notice (spec §8.5): a list only when the set of URIs is
 * another one, contents always.
 *
 * @param before what the MCP server listed the last time
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
