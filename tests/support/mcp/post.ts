import { request } from "node:http";
import { JSON_HEADERS } from "./raw.ts";

/** What came back. */
export interface Posted {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** How a request is sent. */
export interface Posting {
  /** Default POST. */
  readonly method?: string;
  /** In addition to those that every request of MCP has; a foreign `host` too. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What is sent. */
  readonly body?: string;
}

/** Sends a request with any headers, which `fetch` does not let through. */
export function post(
  url: string | URL,
  { method = "POST", headers = {}, body = "" }: Posting = {},
): Promise<Posted> {
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    const sent = request(url, {
      method,
      // Node frames no body of a DELETE by itself.
      headers: {
        ...JSON_HEADERS,
        ...(headers["transfer-encoding"] === undefined && {
          "content-length": new TextEncoder().encode(body).length,
        }),
        ...headers,
      },
      agent: false,
    }, (response) => {
      isAnswered = true;
      let text = "";
      response.setEncoding("utf8").on("data", (part) => text += part);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: text,
        }));
      response.on("error", reject);
    });
    // A server may refuse a body before it has read it.
    sent.on("error", (error) => isAnswered || reject(error));
    sent.end(body);
  });
}

/** A request of MCP 2026-07-28, which needs no session: its headers and its body. */
export function modernRequest(
  method: string,
  params: Readonly<Record<string, unknown>> = {},
): Required<Pick<Posting, "headers" | "body">> {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1.0.0" },
  };
  const name = params.name ?? params.uri;
  return {
    headers: {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: { ...params, _meta: meta },
    }),
  };
}
