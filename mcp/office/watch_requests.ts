import { readableServers } from "../resources/shelf.ts";
import type { Want } from "../resources/subscriptions.ts";
import { placeOf, uriOf } from "../resources/uris.ts";
import type { Wish } from "../resources/watches.ts";
import type { ServerParts } from "./server_parts.ts";

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
