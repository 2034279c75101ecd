import {
  ProtocolError,
  ProtocolErrorCode,
  type Server,
} from "@modelcontextprotocol/server";
import type { ServerParts } from "./server_parts.ts";
import { messageOf } from "../tools/result.ts";
import { readOwnUri, readPlace } from "../resources/shelf.ts";
import { subscribe, unsubscribe } from "../resources/subscriptions.ts";
import { placeOf, TEMPLATES } from "../resources/uris.ts";

/** Makes a server answer what is asked about resources. */
export function answerResourceRequests(
  server: Server,
  { view, options }: ServerParts,
): void {
  const { computer: only } = options;
  server.setRequestHandler("resources/list", async () => ({
    resources: await listed(async () => {
      const agent = await view.ready();
      return await view.reads.resources.list(agent, view.catalogue.computers);
    }),
  }));
  server.setRequestHandler(
    "resources/templates/list",
    () => ({ resourceTemplates: TEMPLATES.map((each) => ({ ...each })) }),
  );
  server.setRequestHandler(
    "resources/read",
    async ({ params: { uri } }, { mcpReq: { signal } }) => {
      const place = placeOf(uri);
      const agent = await view.ready();
      try {
        if (place && (only ?? place.computer) === place.computer) {
          return await readPlace(agent, place, signal);
        }
        // One Computer is shown as itself: the URIs of its MCP servers are valid too.
        if (!place && only !== undefined) {
          return await readOwnUri(agent, only, uri, signal);
        }
      } catch (error) {
        throw unknown(messageOf(error), uri);
      }
      throw unknown(`There is no resource ${uri}`, uri);
    },
  );
  server.setRequestHandler("resources/subscribe", ({ params: { uri } }) => {
    if (placeOf(uri) === undefined) {
      throw unknown(`There is no resource ${uri}`, uri);
    }
    subscribe(server, uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    unsubscribe(server, uri);
    return {};
  });
}

/** Lists nothing while there is no Agent: the instructions say why. */
export async function listed<T>(list: () => Promise<T[]>): Promise<T[]> {
  try {
    return await list();
  } catch {
    return [];
  }
}

/** The resource is not there, or cannot be read now: either way the URI helps nobody. */
const unknown = (message: string, uri: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message, { uri });
