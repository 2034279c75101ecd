import type { FetchLike } from "@modelcontextprotocol/client";
import { mcpUrl, nodeFetch } from "../../client/network/node_fetch.ts";
import { proxyRoute } from "../../client/network/proxy.ts";
import { AGENT_NAMES, type SmcpAgentOptions } from "../../agent/options.ts";
import { writeView } from "../http/views.ts";
import { VIEW_NAMES, type ViewOptions } from "../options.ts";
import type { NamesOf } from "../../shared/checks.ts";

/** Options of `pipeOffice`. */
export interface PipeOptions {
  /** How to reach the Server; its `headers` carry the credentials, and its `auth` is for the seat alone. */
  readonly agent: SmcpAgentOptions & { readonly url: string };
  /** The office. */
  readonly office: string;
  /** How its client sees the office. */
  readonly view?: ViewOptions;
  /** Takes lines about what goes wrong; default none. */
  readonly log?: (line: string) => void;
}

/** The names of {@linkcode PipeOptions}. */
export const PIPE_NAMES = {
  agent: AGENT_NAMES,
  office: true,
  view: VIEW_NAMES,
  log: true,
} satisfies NamesOf<PipeOptions>;

/** How a pipe reaches the MCP of a Server. */
export interface Reach {
  /** The office there. */
  readonly url: URL;
  /** Sends requests to it. */
  readonly fetch: FetchLike;
  /** Credentials. */
  readonly headers: Record<string, string>;
}

/**
 * Returns how to reach the office of a pipe.
 *
 * @throws {TypeError} when the address of the Server or of the proxy is no URL
 */
export function reachOf({ agent, office, view = {} }: PipeOptions): Reach {
  const url = mcpUrl(agent, office);
  url.search = writeView(view).toString();
  const fetch = nodeFetch(agent.tls, proxyRoute(agent));
  return { url, fetch, headers: agent.headers ?? {} };
}
