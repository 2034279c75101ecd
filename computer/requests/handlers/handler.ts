import type {
  CallToolResult,
  ClientEvent,
  ClientEvents,
  MCPServerInput,
} from "../../../protocol/mod.ts";
import type { CallTable } from "../../tools/call_table.ts";
import type { Confirmations } from "../../tools/confirmations.ts";
import type { DpeResolver } from "../../resources/dpe/resolver.ts";
import type { McpHost } from "../../host/host.ts";
import type { ToolCallStarted } from "../../tools/call_events.ts";
import type { RecentServers } from "../../resources/recent_servers.ts";
import type { ResourceWatch } from "../../resources/resource_watch.ts";
import type { Warner } from "../../util/warn_once.ts";

/** What the handlers of requests work with. */
export interface HandlerContext {
  /** The MCP servers. */
  readonly host: McpHost;
  /** The definitions of the placeholders. */
  readonly inputs: readonly MCPServerInput[];
  /** The tool calls of the office. */
  readonly calls: CallTable;
  /** The person's word on tool calls. */
  readonly confirmations: Confirmations;
  /** Their windows and documents. */
  readonly watch: ResourceWatch;
  /** Which of them tools were called of. */
  readonly recent: RecentServers;
  /** Says what is odd about resources. */
  readonly warner: Warner;
  /** Publishes documents, if the user registered one. */
  readonly resolver: DpeResolver | undefined;
  /** The largest message that the Server takes, in bytes, if it is known. */
  readonly maxPayload: number | undefined;
  /** Is told of each tool call; the function it returns, how the call ended. */
  readonly onCall: (
    call: ToolCallStarted,
  ) => (result?: CallToolResult) => void;
}

/**
 * Answers one kind of request of an Agent.
 *
 * @throws {ProtocolError} what the Agent is answered instead
 */
export type Handler<E extends ClientEvent> = (
  request: ClientEvents[E]["request"],
  context: HandlerContext,
) => ClientEvents[E]["answer"] | Promise<ClientEvents[E]["answer"]>;
