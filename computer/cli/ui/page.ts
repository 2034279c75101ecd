import { loadPackages } from "../../../shared/packages.ts";
import type { SmcpComputer } from "../../computer.ts";
import type { AuthorizationRequest } from "../../host/oauth/authorizations.ts";
import { Changes } from "./change_feed.ts";
import { PageQuestions } from "./page_questions.ts";
import type { PageServer } from "./serve_page.ts";

/** Flags about the page of a Computer. */
export interface PageFlags {
  /** Serve the page. */
  ui?: boolean;
  /** Its port, 0 for any free one; implies `ui`. */
  uiPort?: number;
}

/** Returns whether the flags enable the page. */
export const isPageEnabled = ({ ui, uiPort }: PageFlags): boolean =>
  ui === true || uiPort !== undefined;

/** The page of a Computer that is still to be created, or runs. */
export class Page {
  /** The questions of the Computer. */
  readonly questions: PageQuestions;
  readonly #port: number;
  readonly #changes = new Changes();
  readonly #addresses = new Map<string, string>();
  #server: PageServer | undefined;

  /**
   * @param port 0 for any free one
   * @param note receives lines for the terminal about answers of the page
   */
  constructor(port: number, note: (text: string) => void) {
    this.#port = port;
    this.questions = new PageQuestions(this.#changes, note);
  }

  /** Shows the address where a person authorizes the Computer for an MCP server. */
  authorize({ server, url, ended }: AuthorizationRequest): void {
    this.#addresses.set(server, url);
    this.#server?.state.changed();
    void ended.then(() => {
      if (this.#addresses.get(server) === url) this.#addresses.delete(server);
      this.#server?.state.changed();
    });
  }

  /** Serves the page; returns the link to it. */
  async serve(computer: SmcpComputer): Promise<string> {
    const { PageServer } = await loadPackages(
      "serve the page",
      ["@hono/node-server", "hono"],
      () => import("./serve_page.ts"),
    );
    const server = new PageServer({
      computer,
      questions: this.questions,
      addresses: this.#addresses,
      changes: this.#changes,
    });
    const link = await server.listen(this.#port);
    this.#server = server;
    return link;
  }

  /** Ends it. */
  async close(): Promise<void> {
    await this.#server?.close();
  }
}
