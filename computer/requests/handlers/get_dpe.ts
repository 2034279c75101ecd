import type { GET_DPE_EVENT, ResourceContents } from "../../../protocol/mod.ts";
import { requestFailure } from "../../tools/call_failure.ts";
import { resolveDpe } from "../../resources/dpe/resolve_dpe.ts";
import type { McpHost } from "../../host/host.ts";
import { readContents } from "../../resources/contents.ts";
import type { DpeResolver } from "../../resources/dpe/resolver.ts";
import type { ResourceWatch } from "../../resources/resource_watch.ts";
import type { Handler } from "./handler.ts";

/** What {@linkcode getDpe} needs to find, read and publish a document. */
export interface GetDpeNeeds {
  /** The MCP servers. */
  readonly host: McpHost;
  /** Finds the server of a document. */
  readonly watch: Pick<ResourceWatch, "route" | "originalOf">;
  /** Publishes documents, if the user registered one. */
  readonly resolver: DpeResolver | undefined;
}

/** Turns a `dpe://` URI into one that the Agent can fetch (spec §8.3). */
export const getDpe: Handler<typeof GET_DPE_EVENT, GetDpeNeeds> = (
  request,
  { host, watch, resolver },
) =>
  resolveDpe(request, {
    resolver,
    route: (uriHost) => watch.route(uriHost),
    nameOf: (server) => host.server(server)?.config.name ?? server,
    read: (server, uri, signal) =>
      read(host, server, watch.originalOf(server, uri), signal),
  });

async function read(
  host: McpHost,
  bundleId: string,
  uri: string,
  signal: AbortSignal,
): Promise<ResourceContents[]> {
  const server = host.server(bundleId);
  const name = server?.config.name ?? bundleId;
  if (!server?.connection) {
    throw new Error(
      `MCP server "${name}" is ${server?.status.state ?? "gone"}`,
    );
  }
  try {
    const contents = await server.connection.readResource(uri, { signal });
    return contents.map(readContents);
  } catch (error) {
    throw new Error(requestFailure(name, error).message, { cause: error });
  }
}
