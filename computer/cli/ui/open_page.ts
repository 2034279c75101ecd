import { loadPackages } from "../../../shared/packages.ts";
import type { SmcpComputer } from "../../computer.ts";
import type { AuthorizationRequest } from "../../host/oauth/authorizations.ts";
import { Changes } from "./news_feed.ts";
import { questionDesk } from "./question_desk.ts";
import type { servePage } from "./serve_page.ts";

/** Flags about the page of a Computer. */
export interface PageFlags {
  /** Serve the page. */
  ui?: boolean;
  /** Its port, 0 for any free one; implies `ui`. */
  uiPort?: number;
}

/** Returns whether the flags ask for a page. */
export const wantsPage = ({ ui, uiPort }: PageFlags): boolean =>
  ui === true || uiPort !== undefined;

/** The page of a Computer that is still to be created, or runs. */
export type Page = NonNullable<ReturnType<typeof openPage>>;

/**
 * Prepares the page that the flags ask for.
 *
 * @param tell receives lines for the terminal about what the page answered
 */
export function openPage(flags: PageFlags, tell: (text: string) => void) {
  if (!wantsPage(flags)) return undefined;
  const changes = new Changes();
  const desk = questionDesk(changes, tell);
  const addresses = new Map<string, string>();
  let served: Awaited<ReturnType<typeof servePage>> | undefined;
  return {
    /** Where the Computer asks. */
    desk,
    /** Shows the address where a person authorizes the Computer for an MCP server. */
    authorize({ server, url, ended }: AuthorizationRequest): void {
      addresses.set(server, url);
      served?.changed();
      void ended.then(() => {
        if (addresses.get(server) === url) addresses.delete(server);
        served?.changed();
      });
    },
    /** Serves the page; returns the link to it. */
    async serve(computer: SmcpComputer): Promise<string> {
      const { servePage } = await loadPackages(
        "serve the page",
        ["@hono/node-server", "hono"],
        () => import("./serve_page.ts"),
      );
      const sources = { computer, desk, addresses, changes };
      served = await servePage(sources, flags.uiPort ?? 0);
      return served.link;
    },
    /** Ends it. */
    close: async (): Promise<void> => await served?.close(),
  };
}
