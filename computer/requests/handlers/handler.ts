import type { ClientEvent, ClientEvents } from "../../../protocol/mod.ts";

/**
 * Answers one kind of request of an Agent.
 *
 * `Needs` are the parts of the Computer that it uses.
 *
 * @throws {ProtocolError} sent to the Agent as the answer
 */
export type Handler<E extends ClientEvent, Needs> = (
  request: ClientEvents[E]["request"],
  needs: Needs,
) => ClientEvents[E]["answer"] | Promise<ClientEvents[E]["answer"]>;
