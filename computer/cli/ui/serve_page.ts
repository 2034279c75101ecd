import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { listenOrExplain } from "../../../cli/listen.ts";
import { problemOf, toProblemResponse } from "../../../shared/http.ts";
import type { SmcpComputer } from "../../computer.ts";
import type { Changes } from "./changes.ts";
import { NewsFeed } from "./news_feed.ts";
import { pageApp } from "./page_app.ts";
import { PageState } from "./page_state.ts";
import type { QuestionDesk } from "./question_desk.ts";

/** Only this machine may see the page. */
const PAGE_HOST = "127.0.0.1";
/** Many more than the streams that there can be. */
const MAX_CONNECTIONS = 128;

/** How long a stream that has ended may take to be read. */
const END_TIMEOUT_MS = 1_000;

/** The page of a Computer, while it is served. */
export interface ServedPage {
  /** Its address, with the token; whoever has it can answer questions. */
  readonly link: string;
  /** Shows what changed of the Computer besides its events. */
  changed(): void;
  /** Ends it. */
  close(): Promise<void>;
}

/** What {@linkcode servePage} needs. */
export interface ServePageOptions {
  readonly computer: SmcpComputer;
  readonly desk: QuestionDesk;
  /** Where a person authorizes the Computer, by the names of MCP servers. */
  readonly addresses: ReadonlyMap<string, string>;
  readonly changes: Changes;
  /** The port; 0 for any free one. */
  readonly port: number;
}

/**
 * Serves the page of a Computer to browsers of this machine.
 *
 * @throws {Error} that names the flag to change, when the port cannot be used
 */
export async function servePage(
  { computer, desk, addresses, changes, port }: ServePageOptions,
): Promise<ServedPage> {
  const token = randomBytes(32).toString("hex");
  const state = new PageState({ computer, desk, addresses, changes });
  const feed = new NewsFeed(state, changes);
  const app = pageApp({ state, feed, token });
  const server = createServer(
    getRequestListener(app.fetch, {
      overrideGlobalObjects: false,
      errorHandler: () =>
        toProblemResponse(
          problemOf(400, "request", "it cannot be read", "correct it"),
        ),
    }),
  );
  server.maxConnections = MAX_CONNECTIONS;
  const address = { hostname: PAGE_HOST, port };
  await listenOrExplain(
    () =>
      new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, PAGE_HOST, () => {
          server.off("error", reject);
          resolve();
        });
      }),
    address,
    "--ui-",
  );
  const { port: actual } = server.address() as AddressInfo;
  return {
    link: `http://${PAGE_HOST}:${actual}/#token=${token}`,
    changed: () => state.changed(),
    close: async () => {
      state.close();
      feed.close();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(
          () => server.closeAllConnections(),
          END_TIMEOUT_MS,
        );
        server.close(() => {
          clearTimeout(timer);
          resolve();
        });
        server.closeIdleConnections();
      });
    },
  };
}
