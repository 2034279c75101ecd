import type { FetchLike } from "@modelcontextprotocol/client";
import { explain, explainStatus } from "./failure.ts";

/** What is at the address of an office's MCP server. */
export type Found =
  | { readonly kind: "served" }
  /** The Server has no MCP: one of another make, an older one, or one without `--mcp`. */
  | { readonly kind: "absent" }
  /** Not now, and perhaps later. */
  | { readonly kind: "away"; readonly reason: string };

/** Statuses of a Server that does not know the path. */
const ABSENT = [404, 501];
/** Statuses that pass: the Server is busy or ending, or somebody's own Agent has the office's seat. */
const AWAY = [429, 502, 503, 504];

/** Finds out whether a Server serves MCP, by a request that changes nothing in any revision of MCP. */
export async function probe(
  url: URL,
  fetch: FetchLike,
  init: { readonly headers: HeadersInit; readonly signal: AbortSignal },
): Promise<Found> {
  let response: Response;
  const headers = new Headers(init.headers);
  headers.set("accept", "text/event-stream");
  try {
    response = await fetch(url, { ...init, headers });
  } catch (error) {
    init.signal.throwIfAborted();
    return { kind: "away", reason: explain(url, error) };
  }
  const { status } = response;
  if (response.ok) {
    await response.body?.cancel();
    return { kind: "served" }; // a stream of somebody else's MCP server
  }
  const body = await response.text().catch(() => "");
  if (ABSENT.includes(status)) return { kind: "absent" };
  return AWAY.includes(status)
    ? { kind: "away", reason: explainStatus(url, status, body) }
    : { kind: "served" };
}
