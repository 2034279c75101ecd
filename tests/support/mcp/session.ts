import type { OfficeMcp } from "../../../mcp/mod.ts";
import { INITIALIZE, JSON_HEADERS } from "./post.ts";

/** Sends one request. */
export const send = (
  mcp: Pick<OfficeMcp, "fetch">,
  { method = "POST", body, session, ...more }: {
    readonly method?: string;
    readonly body?: string;
    readonly session?: string;
    readonly headers?: Record<string, string>;
  } = {},
) =>
  mcp.fetch("http://office/mcp", {
    method,
    body: body ?? null,
    headers: {
      ...JSON_HEADERS,
      ...(session !== undefined && { "mcp-session-id": session }),
      ...more.headers,
    },
  });

/** Opens a session; returns its id. */
export async function open(mcp: Pick<OfficeMcp, "fetch">): Promise<string> {
  const response = await send(mcp, { body: INITIALIZE });
  await response.text();
  return response.headers.get("mcp-session-id") ?? "";
}
