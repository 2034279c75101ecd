import type { ClientEvent, ClientEvents } from "../../../protocol/mod.ts";

/**
 * Answers one kind of request of an Agent.
 *
 * `Needs` is what this kind works with, beside the request.
 *
 * @throws {ProtocolError} what the Agent is answered instead
 */
export type Handler<E extends ClientEvent, Needs> = (
  request: ClientEvents[E]["request"],
  needs: Needs,
) => ClientEvents[E]["answer"] | Promise<ClientEvents[E]["answer"]>;
