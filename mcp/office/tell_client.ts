import type { Server, ServerEvent } from "@modelcontextprotocol/server";
import { isSubscribed } from "../resources/subscriptions.ts";

/** Tells the client of one server of a change; a client that has just gone hears nothing. */
export function tellClient(server: Server, event: ServerEvent): void {
  send(server, event).catch(() => {
    // It has just ended.
  });
}

function send(server: Server, event: ServerEvent): Promise<void> {
  switch (event.kind) {
    case "tools_list_changed":
      return server.sendToolListChanged();
    case "prompts_list_changed":
      return server.sendPromptListChanged();
    case "resources_list_changed":
      return server.sendResourceListChanged();
    case "resource_updated":
      return isSubscribed(server, event.uri)
        ? server.sendResourceUpdated({ uri: event.uri })
        : Promise.resolve();
  }
}
