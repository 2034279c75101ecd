import type { Page } from "playwright-core";

const SCRIPT = await Deno.readTextFile(
  new URL("./other_site.js", import.meta.url),
);
const HTML = `<!doctype html><title>Other</title><script>${SCRIPT}</script>`;

/** A site of others, whose page tries what it can. */
export interface OtherSite extends AsyncDisposable {
  /** Its page under the name `localhost`: another site than that of an address. */
  readonly crossSite: string;
  /** Its page under an address: the same site, another origin. */
  readonly sameSite: string;
}

/** Serves a page without content and without rules. */
export function startOtherSite(): OtherSite {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response(HTML, { headers: { "Content-Type": "text/html" } }),
  );
  const { port } = server.addr;
  return {
    crossSite: `http://localhost:${port}/`,
    sameSite: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A change that a page of others wants. */
export interface Wanted {
  /** The URL of the operation. */
  readonly url: string;
  /** Its body. */
  readonly body: string;
  /** A token that was stolen. */
  readonly token?: string;
}

/** What came of it: an answer that the page read, or why not. */
export type Gained = readonly [way: string, result: string];

/** Lets a page of the site try to make the browser send a change. */
export const attack = (page: Page, wanted: Wanted): Promise<Gained[]> =>
  page.evaluate(`attack(${JSON.stringify(wanted)})`);
