import {
  ProtocolError,
  ProtocolErrorCode,
  type Server,
} from "@modelcontextprotocol/server";
import { callerOf, type Cancelled, inTurn, signalOf } from "./turn.ts";
import type { ServerParts } from "./server.ts";
import { readableServers, readOwnUri, readPlace } from "../resources/shelf.ts";
import {
  subscribe,
  unsubscribe,
  type Want,
  type Wish,
} from "../resources/watches.ts";
import { placeOf, TEMPLATES, uriOf } from "../resources/uris.ts";
import { messageOf } from "../tools/result.ts";

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

/** Lets a resource be watched by the URI that clients of this view know it by. */
export const wantIn =
  ({ view, options: { computer: only } }: ServerParts): Want => (uri) => {
    const place = placeOf(uri);
    if (place) {
      if ((only ?? place.computer) === place.computer) {
        return view.watches.want(uriOf(place));
      }
      return unwatched(uri);
    }
    return only === undefined ? unwatched(uri) : wantOwn(view, only, uri);
  };

/** Watches a URI of one Computer's MCP servers, at each of them: nobody says whose it is. */
function wantOwn(
  view: ServerParts["view"],
  computer: string,
  uri: string,
): Wish {
  let isOver = false;
  const wishes: Wish[] = [];
  const begin = async () => {
    const servers = await readableServers(await view.ready(), computer, {});
    if (isOver) return;
    wishes.push(
      ...servers.map((server) =>
        view.watches.want(uriOf({ kind: "resource", computer, server, uri }))
      ),
    );
    await Promise.any(wishes.map(({ ready }) => ready)).catch((error) => {
      throw error instanceof AggregateError
        ? error.errors.at(-1) ?? error
        : error;
    });
  };
  const begun = begin();
  begun.catch(() => {});
  return {
    ready: begun,
    release: () => {
      isOver = true;
      for (const wish of wishes) wish.release();
    },
  };
}

function unwatched(uri: string): Wish {
  const ready = Promise.reject(new Error(`There is no resource ${uri}`));
  ready.catch(() => {});
  return { ready, release() {} };
}

/** The most values of an answer, as MCP limits it. */
const MAX_VALUES = 100;

/** Variables whose values choose among the values of others. */
const CHOOSING: readonly string[] = ["computer", "server", "name"];
/** Variables whose values depend on others. */
const VARIABLES: readonly string[] = ["server", "uri", "name", "path"];

/** What is asked for. */
interface Wanted {
  /** What the template is of. */
  readonly kind: typeof TEMPLATES[number]["name"];
  /** The name of its variable. */
  readonly name: string;
  /** What the others are already. */
  readonly known: Readonly<Record<string, string>>;
}

/**
 * Makes a server complete the variables of its templates. For the arguments of prompts it has no
 * values: A2C has no request for those.
 */
export function answerCompletionRequests(
  server: Server,
  parts: ServerParts,
): void {
  server.setRequestHandler("completion/complete", async ({ params }) => {
    const { ref, argument: { name, value }, context } = params;
    const known = context?.arguments ?? {};
    const values = ref.type === "ref/resource"
      ? await valuesOf(parts, { kind: kindOf(ref.uri), name, known })
      : [];
    const wanted = value.toLowerCase();
    const fitting = values.filter((each) =>
      each.toLowerCase().startsWith(wanted)
    );
    return {
      completion: {
        values: fitting.slice(0, MAX_VALUES),
        total: fitting.length,
        hasMore: fitting.length > MAX_VALUES,
      },
    };
  });
}

function kindOf(uriTemplate: string): Wanted["kind"] {
  const found = TEMPLATES.find((each) => each.uriTemplate === uriTemplate);
  if (found) return found.name;
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no template ${uriTemplate}`,
  );
}

/** All values that a variable can have, in order. */
async function valuesOf(
  { view, options: { computer: only } }: ServerParts,
  { kind, name, known }: Wanted,
): Promise<string[]> {
  const agent = await view.ready();
  const computers = view.catalogue.computers.filter((each) =>
    (only ?? each) === each
  );
  if (name === "computer") return computers;
  const places = (await view.reads.resources.list(agent, computers))
    .map(({ uri }) => placeOf(uri))
    .filter((place) => place?.kind === kind);
  const values = places.flatMap((place) => {
    if (place === undefined || place.kind === "desktop") return [];
    const fields: Readonly<Partial<Record<string, string>>> = { ...place };
    const isMeant = CHOOSING.every((each) =>
      each === name || fields[each] === (known[each] ?? fields[each])
    );
    const value = VARIABLES.includes(name) ? fields[name] : undefined;
    return isMeant && value !== undefined ? [value] : [];
  });
  return [...new Set(values)].toSorted();
}
