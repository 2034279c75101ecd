import type { FetchLike } from "@modelcontextprotocol/client";
import { proxyRoute } from "../../client/proxy.ts";
import { writeView } from "../http/view_query.ts";
import { nodeFetch } from "./node_fetch.ts";
import type { PipeOptions } from "./pipe.ts";

/** How a pipe reaches the MCP of a Server. */
export interface Reach {
  /** The office there. */
  readonly url: URL;
  /** Sends requests to it. */
  readonly fetch: FetchLike;
}

/**
 * Returns how to reach the office of a pipe.
 *
 * @throws {TypeError} when the address of the Server or of the proxy is no URL
 */
export function reachOf({ agent, office, view = {} }: PipeOptions): Reach {
  const url = new URL(
    `/mcp/${encodeURIComponent(office)}`,
    agent.url.replace(/^ws/i, "http"),
  );
  url.search = writeView(view).toString();
  return { url, fetch: nodeFetch(agent.tls, proxyRoute(agent)) };
}
