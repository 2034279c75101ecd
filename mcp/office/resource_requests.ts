import {
  ProtocolError,
  ProtocolErrorCode,
  type Server,
} from "@modelcontextprotocol/server";
import { callerOf, type Cancelled, inTurn, signalOf } from "../calls/turn.ts";
import type { ServerParts } from "./server_parts.ts";
import { messageOf } from "../tools/result.ts";
import { readOwnUri, readPlace } from "../resources/shelf.ts";
import { subscribe, unsubscribe } from "../resources/subscriptions.ts";
import { wantIn } from "./watch_requests.ts";
import { placeOf, TEMPLATES } from "../resources/uris.ts";

/** Makes a server answer what is asked about resources. */
export function answerResourceRequests(
  server: Server,
  parts: ServerParts,
  cancelled: Cancelled,
): void {
  const { view, queue, options } = parts;
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
    async ({ params: { uri } }, context) => {
      const place = placeOf(uri);
      const computer = place?.computer ?? only;
      if (computer === undefined || computer !== (only ?? computer)) {
        throw unknown(`There is no resource ${uri}`, uri);
      }
      const agent = await view.ready();
      const signal = signalOf(context.mcpReq, cancelled);
      const caller = callerOf(server, context);
      try {
        return await inTurn(
          { computer, uri },
          { queue, options, signal, caller },
          (reqId) =>
            place
              ? readPlace(agent, place, { signal, reqId })
              // One Computer is shown as itself: the URIs of its MCP servers are valid too.
              : readOwnUri(agent, computer, uri, { signal, reqId }),
        );
      } catch (error) {
        throw unknown(messageOf(error), uri);
      }
    },
  );
  const want = wantIn(parts);
  server.setRequestHandler(
    "resources/subscribe",
    async ({ params: { uri } }) => {
      try {
        await view.ready();
        await subscribe(server, uri, want);
      } catch (error) {
        throw unknown(messageOf(error), uri);
      }
      return {};
    },
  );
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
