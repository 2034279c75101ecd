/**
 * `_meta` of requests, an extension of this package (protocol §15), and what it has about the
 * offices that a call passes, or an MCP server leads to.
 *
 * @module
 */
import { isPlainObject } from "../validation.ts";
import * as z from "../validation.ts";

/** What goes with a request to the MCP server of a tool, or describes its sender: any JSON by keys. */
export type RequestMeta = Record<string, unknown>;

/** The most bytes of {@linkcode RequestMeta} as JSON. */
export const MAX_META_BYTES = 8_192;

/** The key of the offices, in `_meta` of A2C-SMCP and of MCP: the list of their ids. */
export const OFFICES_KEY = "a2c-smcp/offices";

/** The most offices that a call passes: more are a mistake in almost all cases, and a loop has no end. */
export const MAX_OFFICES_OF_CALL = 4;

/** The most offices that are read of a list; those after them are left out. */
export const MAX_OFFICES_LISTED = 64;

/** The id of an office: random, so that it reveals nothing. */
const OFFICE_ID = /^[A-Za-z0-9_-]{1,64}$/;

const bytesOf = (data: object): number =>
  new TextEncoder().encode(JSON.stringify(data)).length;

/** Whether data is a JSON object of at most {@linkcode MAX_META_BYTES}. */
export function isRequestMeta(data: unknown): data is RequestMeta {
  if (!isPlainObject(data)) return false;
  const { length } = JSON.stringify(data);
  // A character has three bytes at most.
  return 3 * length <= MAX_META_BYTES ||
    length <= MAX_META_BYTES && bytesOf(data) <= MAX_META_BYTES;
}

/** @internal */
export const requestMeta = z.custom<RequestMeta>(
  isRequestMeta,
  `Invalid input: expected object of at most ${MAX_META_BYTES} bytes`,
);

/**
 * Reads the ids of offices out of `_meta`, in their order.
 *
 * @param meta as a peer sent it; whatever is no id in it is left out
 */
export function readOffices(meta: unknown): string[] {
  const listed: unknown = Object(meta)[OFFICES_KEY];
  if (!Array.isArray(listed)) return [];
  return listed.slice(0, MAX_OFFICES_LISTED).filter((id) =>
    typeof id === "string" && OFFICE_ID.test(id)
  );
}

/** Writes what {@linkcode readOffices} reads; no `_meta` for no offices. */
export const writeOffices = (
  ids: readonly string[],
): { _meta?: RequestMeta } =>
  ids.length === 0
    ? {}
    : { _meta: { [OFFICES_KEY]: ids.slice(0, MAX_OFFICES_LISTED) } };

/** Keys of `_meta` that MCP defines; a Computer's own requests have them. */
const OF_MCP = /^(progressToken$|([\w-]+\.)?(modelcontextprotocol|mcp)[./])/;

/** Keys of ours, which no other client of MCP sets. */
const OURS = /^a2c-smcp\//;

/** Returns the part of `_meta` of a call by MCP that goes with it to the MCP server of the tool. */
export const passedFromClient = (meta: RequestMeta): RequestMeta =>
  Object.fromEntries(
    Object.entries(passedOn(meta)).filter(([key]) => !OURS.test(key)),
  );

/** Returns the part of a request's `_meta` that its Computer passes on to the MCP server. */
export const passedOn = (meta: RequestMeta): RequestMeta =>
  Object.fromEntries(
    Object.entries(meta).filter(([key]) => !OF_MCP.test(key)),
  );

/** The keys of `_meta` that no tool acts on: of traces (W3C Trace Context), and the offices that a call has passed. */
const OF_THE_ROUTE: ReadonlySet<string> = new Set([
  "traceparent",
  "tracestate",
  OFFICES_KEY,
]);

/** Returns the part of `_meta` that goes with a call about whose arguments a person, or a rule, decided. */
export function ofTheRoute(meta: RequestMeta): RequestMeta | undefined {
  const kept = Object.entries(meta).filter(([key]) => OF_THE_ROUTE.has(key));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
