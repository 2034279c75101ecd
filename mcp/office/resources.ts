/**
 * Requests for resources: lists, reads, subscriptions and completions.
 *
 * A URI that is one of ours names its Computer. Where one Computer is shown as itself, the URIs of
 * its MCP servers count too, and each of these servers is asked in turn.
 *
 * @module
 */
import { Turn } from "./turn.ts";
import { cutPage } from "./pages.ts";
import type { Answers, ServerParts } from "./server_parts.ts";
import {
  readableServers,
  readOwnUri,
  readPlace,
} from "../resources/contents.ts";
import {
  type Subscribe,
  subscribe,
  type Subscription,
  unsubscribe,
} from "../resources/watches.ts";
import { placeOf, TEMPLATES } from "../resources/uris.ts";
import { invalidParams, messageOf } from "../tools/result.ts";
import { weigh } from "../../shared/json/values.ts";

/** Makes a server answer requests for resources. */
export const answerResourceRequests: Answers = (server, parts) => {
  const { view, options: { computer: only } } = parts;
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
    () => ({ resourceTemplates: TEMPLATES.map((each) => ({ ...each })) }),
  );
  server.setRequestHandler(
    "resources/read",
    async ({ params: { uri } }, context) => {
      const place = placeOf(uri);
      const computer = place?.computer ?? only;
      if (computer === undefined || computer !== (only ?? computer)) {
        throw invalidParams(`There is no resource ${uri}`, { uri });
      }
      const agent = await view.ready();
      const turn = new Turn(server, context, parts);
      try {
        return await turn.run(
          { computer, uri },
          (request) =>
            place
              ? readPlace(agent, place, request)
              // One Computer is shown as itself: the URIs of its MCP servers are valid too.
              : readOwnUri(agent, computer, uri, request),
        );
      } catch (error) {
        throw invalidParams(messageOf(error), { uri });
      }
    },
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
    return place && isShown ? view.watches.subscribe(place) : unwatched(uri);
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
        view.watches.subscribe({ kind: "resource", computer, server, uri })
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

/** The most values of an answer, as MCP limits it. */
const MAX_VALUES = 100;

/**
 * Makes a server complete the variables of its templates. For the arguments of prompts it has no
 * values: A2C has no request for those.
 */
export const answerCompletionRequests: Answers = (server, parts) => {
  const { view, options: { computer: only } } = parts;
  server.setRequestHandler("completion/complete", async ({ params }) => {
    const { ref, argument: { name, value }, context } = params;
    const all = ref.type === "ref/resource"
      ? await completions(ref.uri, name, context?.arguments ?? {})
      : [];
    const prefix = value.toLowerCase();
    const found = all.filter((each) => each.toLowerCase().startsWith(prefix));
    const values = found.slice(0, MAX_VALUES);
    const total = found.length;
    const hasMore = found.length > MAX_VALUES;
    return { completion: { values, total, hasMore } };
  });

  /** All values that a variable of a template can have beside known ones, in order. */
  async function completions(
    uriTemplate: string,
    variable: string,
    known: Readonly<Record<string, string>>,
  ): Promise<string[]> {
    const template = TEMPLATES.find((each) => each.uriTemplate === uriTemplate);
    if (template === undefined) {
      throw invalidParams(`There is no template ${uriTemplate}`);
    }
    const agent = await view.ready();
    const computers = view.catalogue.computers
      .filter((each) => (only ?? each) === each);
    if (variable === "computer") return computers;
    const resources = await view.reads.resources.list(agent, computers);
    const values = resources.flatMap(({ uri }) => {
      const { kind, ...fields }: Readonly<Partial<Record<string, string>>> = {
        ...placeOf(uri),
      };
      const isMeant = kind === template.name &&
        ["computer", "server", "name"].every((each) =>
          each === variable || fields[each] === (known[each] ?? fields[each])
        );
      return isMeant ? fields[variable] ?? [] : [];
    });
    return [...new Set(values)].toSorted();
  }
};
