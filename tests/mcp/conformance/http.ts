import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { appOf } from "../../support/fixtures/mcp_http.ts";
import { conformanceServer } from "./server.ts";

/** The MCP server of the conformance suite in this process. */
export interface ConformanceHttp extends AsyncDisposable {
  /** Its endpoint. */
  readonly url: string;
}

/** Serves it over Streamable HTTP. */
export async function conformanceHttp(): Promise<ConformanceHttp> {
  const http = createServer(appOf(conformanceServer));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}
