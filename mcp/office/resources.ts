/**
 * Requests for resources: lists, templates, reads and subscriptions.
 *
 * A URI that is one of ours names its Computer. Where one Computer is shown as itself, the URIs of
 * its MCP servers count too, and each of these servers is asked in turn; else those that one MCP server alone has.
 *
 * @module
 */
import type { ReadResourceResult } from "@modelcontextprotocol/server";
import type { OfficeAgent } from "../office_agent.ts";
import { toRequestError } from "./failures.ts";
import { Turn } from "./turn.ts";
import { cutPage } from "./pages.ts";
import type { Answers, ServerParts } from "./server_parts.ts";
import {
  readableServers,
  readOwnUri,
  readPlace,
  shownTemplate,
} from "../resources/contents.ts";
import {
  type Subscribe,
  subscribe,
  type Subscription,
  unsubscribe,
} from "../resources/watches.ts";
import { type Place, placeOf, TEMPLATES, uriOf } from "../resources/uris.ts";
import { invalidParams, messageOf } from "../tools/result.ts";
import { weigh } from "../../shared/json/values.ts";

/** Makes a server answer requests for resources. */
export const answerResourceRequests: Answers = (server, parts) => {
  const { view } = parts;
  server.setRequestHandler("resources/list", async ({ params }) => {
    const resources = await listed(async () => {
      const agent = await view.complete();
      return await view.reads.resources.list(agent, view.catalogue.computers);
    });
    const { items, next } = cutPage(resources, params?.cursor, weigh);
    return { resources: items, ...next };
  });
  server.setRequestHandler(
    "resources/templates/list",
    async ({ params }) => {
      const templates = await listed(async () => {
        const agent = await view.ready();
        const { computers } = view.catalogue;
        return await view.reads.templates.list(agent, computers);
      });
      const all = [
        ...TEMPLATES.map((each) => ({ ...each })),
        ...templates.map(shownTemplate),
      ];
      const { items, next } = cutPage(all, params?.cursor, weigh);
      return { resourceTemplates: items, ...next };
    },
  );
  server.setRequestHandler(
    "resources/read",
    async ({ params: { uri } }, context) =>
      await read(uri, parts, new Turn(server, context, parts)),
  );
  const begin = subscribeIn(parts);
  server.setRequestHandler(
    "resources/subscribe",
    async ({ params: { uri } }) => {
      try {
        await view.ready();
        await subscribe(server, uri, begin);
      } catch (error) {
        throw invalidParams(messageOf(error), { uri });
      }
      return {};
    },
  );
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    unsubscribe(server, uri);
    return {};
  });
};

/** Reads a resource by any URI that leads to it. */
async function read(
  uri: string,
  { view, options: { computer: only } }: ServerParts,
  turn: Turn,
): Promise<ReadResourceResult> {
  const agent = await view.ready();
  const own = placeOf(uri);
  const place = own ?? (only ?? await sharedPlace(view, agent, uri));
  const computer = typeof place === "object" ? place.computer : place;
  if (computer === undefined || computer !== (only ?? computer)) {
    throw invalidParams(`There is no resource ${uri}`, { uri });
  }
  try {
    return await turn.run(
      { computer, uri },
      async (request) =>
        typeof place === "object"
          ? asAsked(await readPlace(agent, place, request), place, uri)
          // One Computer is shown as itself: the URIs of its MCP servers are valid too.
          : await readOwnUri(agent, computer, uri, request),
    );
  } catch (error) {
    throw toRequestError(error, uri);
  }
}

/** Gives the contents that were asked for the URI that the client used, of which a place has several. */
const asAsked = (
  { contents, ...rest }: ReadResourceResult,
  place: Place,
  uri: string,
): ReadResourceResult => ({
  ...rest,
  contents: contents.map((each) =>
    each.uri === uriOf(place) ? { ...each, uri } : each
  ),
});

/**
 * Finds what an MCP server's own URI means in an office: what one MCP server alone lists, or a link to the web
 * that one has returned.
 *
 * @throws {ProtocolError} several have it
 */
async function sharedPlace(
  { reads, catalogue, links }: ServerParts["view"],
  agent: OfficeAgent,
  uri: string,
): Promise<Place | undefined> {
  const linked = links.find(uri);
  if (linked) return linked;
  const all = await reads.resources.list(agent, catalogue.computers);
  const shown = all.filter((each) => Object(placeOf(each.uri)).uri === uri);
  if (shown.length > 1) {
    const uris = shown.slice(0, MAX_NAMED).map((each) => each.uri);
    throw invalidParams(
      `Several MCP servers have ${uri}; read one of ${uris.join(", ")}`,
      { uri },
    );
  }
  const [found] = shown;
  return found && placeOf(found.uri);
}

/** The most URIs that an error names. */
const MAX_NAMED = 10;

/** Lists nothing while there is no Agent: the reason is in the instructions. */
export async function listed<T>(list: () => Promise<T[]>): Promise<T[]> {
  try {
    return await list();
  } catch {
    return [];
  }
}

/** Subscribes to a resource by its URI in this view. */
export const subscribeIn =
  ({ view, options: { computer: only } }: ServerParts): Subscribe => (uri) => {
    const place = placeOf(uri);
    if (!place && only !== undefined) return subscribeOwn(view, only, uri);
    const isShown = (only ?? place?.computer) === place?.computer;
    return place && isShown ? view.subscribe(place) : unwatched(uri);
  };

/** Subscribes to a URI of one Computer's MCP servers at each of them, since any may have it. */
function subscribeOwn(
  view: ServerParts["view"],
  computer: string,
  uri: string,
): Subscription {
  let isOver = false;
  const subscriptions: Subscription[] = [];
  const begin = async () => {
    const servers = await readableServers(await view.ready(), computer, {});
    if (isOver) return;
    subscriptions.push(
      ...servers.map((server) =>
        view.subscribe({ kind: "resource", computer, server, uri })
      ),
    );
    await Promise.any(subscriptions.map(({ ready }) => ready)).catch(
      (error) => {
        throw error.errors?.at(-1) ?? error;
      },
    );
  };
  const ready = begin();
  ready.catch(() => {});
  return {
    ready,
    end: () => {
      isOver = true;
      for (const each of subscriptions) each.end();
    },
  };
}

function unwatched(uri: string): Subscription {
  const ready = Promise.reject(new Error(`There is no resource ${uri}`));
  ready.catch(() => {});
  return { ready, end() {} };
}
