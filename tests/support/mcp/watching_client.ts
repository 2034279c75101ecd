import { Client, type Transport } from "@modelcontextprotocol/client";
import { type ChildCommand, ChildTransport } from "./child_transport.ts";
import { httpTransport } from "./http_transport.ts";

/** The revisions with and without sessions. */
export type Era = "2025" | "2026";

/** A client that is told of changes of resources and prompts. */
export interface WatchingClient extends AsyncDisposable {
  readonly client: Client;
  /** Every notice, with the URI of a resource. */
  readonly notices: readonly string[];
  /** Resolves when a notice has come so often. */
  told(notice: string, count?: number): Promise<void>;
  /** Asks to be told of resources, and of changed lists. */
  watch(...uris: string[]): Promise<void>;
}

/** Connects over HTTP or with a child process. */
export async function watchingClient(
  reach: { readonly url: URL } | ChildCommand,
  era: Era,
): Promise<WatchingClient> {
  const client = new Client({ name: "test", version: "1.0.0" }, {
    versionNegotiation: {
      mode: era === "2025" ? "legacy" : { pin: "2026-07-28" },
    },
  });
  const notices: string[] = [];
  let wake = () => {};
  const note = (notice: string) => {
    notices.push(notice);
    wake();
  };
  client.setNotificationHandler(
    "notifications/resources/updated",
    ({ params: { uri } }) => note(uri),
  );
  client.setNotificationHandler(
    "notifications/resources/list_changed",
    () => note("resources"),
  );
  client.setNotificationHandler(
    "notifications/prompts/list_changed",
    () => note("prompts"),
  );
  const opened = Promise.withResolvers<void>();
  const transport = "url" in reach
    ? httpTransport(reach.url, {
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        if (init?.method === "GET") opened.resolve();
        return response;
      },
    })
    : new ChildTransport(reach);
  await client.connect(transport as Transport);
  if (era === "2025" && "url" in reach) await opened.promise;
  return {
    client,
    notices,
    async told(notice, count = 1) {
      while (notices.filter((each) => each === notice).length < count) {
        await new Promise<void>((resolve) => wake = resolve);
      }
    },
    async watch(...uris) {
      if (era === "2026") {
        await client.listen({
          resourceSubscriptions: uris,
          resourcesListChanged: true,
          promptsListChanged: true,
        });
      } else {
        for (const uri of uris) await client.subscribeResource({ uri });
      }
    },
    async [Symbol.asyncDispose]() {
      if ("terminateSession" in transport) {
        await transport.terminateSession();
      }
      await client.close();
    },
  };
}
