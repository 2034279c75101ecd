import { getRequestListener } from "@hono/node-server";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { OfficeMcp } from "../../../mcp/mod.ts";

/** An MCP server at an address of its own. */
export interface ServedMcp extends AsyncDisposable {
  /** Where MCP answers. */
  readonly url: URL;
}

/** Serves an office over HTTP on a free port, as the commands do it: `node:http` notices every client that goes. */
export async function serveMcp(
  mcp: Pick<OfficeMcp, "handle">,
): Promise<ServedMcp> {
  const server = createServer(
    getRequestListener((request) => mcp.handle(request), {
      overrideGlobalObjects: false,
    }),
  );
  await new Promise<void>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve())
  );
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
