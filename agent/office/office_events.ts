import type { Connection } from "../../client/connection.ts";
import type { Emitter } from "../../client/emitter.ts";
import type { Notification, Notifications } from "../../protocol/mod.ts";
import { type AgentEventOf, agentEventOf, type AgentEvents } from "./events.ts";
import * as queries from "../requests/queries.ts";
import { Requests } from "../requests/requests.ts";
import { catalogueStep, ToolCatalogue } from "../tools/tool_catalogue.ts";

/**
 * Forwards the events of an Agent's office, and keeps its tools up to date (spec §9).
 *
 * @param name the Agent's own name
 */
export function forwardOfficeEvents(
  connection: Connection,
  name: string,
  events: Emitter<AgentEvents>,
): ToolCatalogue {
  // Without `offline: "wait"`: after a reconnect everything is fetched again anyway.
  const requests = new Requests(connection, { name });
  const catalogue = new ToolCatalogue({
    list: async () =>
      (await queries.members(requests, connection.office, {}))
        .filter(({ role }) => role === "computer")
        .map(({ name }) => name),
    fetch: (computer) => queries.tools(requests, computer, {}),
    changed: (computer, tools) => events.emit("tools", { computer, tools }),
    failed: (computer, error) =>
      events.emit("toolsFailed", { computer, error }),
  });
  const notify = <N extends Notification>({ event, payload }: {
    event: N;
    payload: Notifications[N] & AgentEvents[AgentEventOf<N>];
  }) => events.emit(agentEventOf(event), payload);
  connection.on("notification", (notification) => {
    catalogue.apply(catalogueStep(notification));
    notify(notification);
  });
  connection.on("joined", (joined) => {
    catalogue.refresh();
    events.emit("joined", joined);
  });
  connection.on("disconnected", (lost) => {
    if (!lost.reconnecting) catalogue.clear();
    events.emit("disconnected", lost);
  });
  connection.on("connected", (to) => events.emit("connected", to));
  connection.on(
    "rejoinFailed",
    (failure) => events.emit("rejoinFailed", failure),
  );
  connection.on("refused", (error) => events.emit("refused", error));
  return catalogue;
}
