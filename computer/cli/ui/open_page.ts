import { loadPackages } from "../../../shared/packages.ts";
import type { SmcpComputer } from "../../computer.ts";
import type { AuthorizationRequest } from "../../host/oauth/authorizations.ts";
import { Changes } from "./news_feed.ts";
import { QuestionDesk } from "./question_desk.ts";
import type { ServedPage } from "./serve_page.ts";

/** Flags about the page of a Computer. */
export interface PageFlags {
  /** Serve the page. */
  ui?: boolean;
  /** Its port, 0 for any free one; implies `ui`. */
  uiPort?: number;
}

/** Tells whether the flags ask for a page. */
export const wantsPage = ({ ui, uiPort }: PageFlags): boolean =>
  ui === true || uiPort !== undefined;

/** The page of a Computer that is still to be created, or runs. */
export interface Page {
  /** Where the Computer asks. */
  readonly desk: QuestionDesk;
  /** Shows the address where a person authorizes the Computer for an MCP server. */
  authorize(request: AuthorizationRequest): void;
  /** Serves the page; returns the link to it. */
  serve(computer: SmcpComputer): Promise<string>;
  /** Ends it. */
  close(): Promise<void>;
}

/**
 * Prepares the page that the flags ask for.
 *
 * @param tell receives lines for the terminal about what the page answered
 */
export function openPage(
  flags: PageFlags,
  tell: (text: string) => void,
): Page | undefined {
  if (!wantsPage(flags)) return undefined;
  const { uiPort = 0 } = flags;
  const changes = new Changes();
  const desk = new QuestionDesk(changes, tell);
  const addresses = new Map<string, string>();
  let served: ServedPage | undefined;
  return {
    desk,
    authorize: ({ server, url }) => {
      addresses.set(server, url);
      served?.changed();
    },
    serve: async (computer) => {
      const { servePage } = await loadPackages(
        "serve the page",
        ["@hono/node-server", "hono"],
        () => import("./serve_page.ts"),
      );
      const sources = { computer, desk, addresses, changes };
      served = await servePage(sources, uiPort);
      return served.link;
    },
    close: async () => await served?.close(),
  };
}
