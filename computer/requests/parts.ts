import type { Emitter } from "../../client/emitter.ts";
import type {
  ClientEvent,
  ClientEvents,
  ServerEvent,
} from "../../protocol/mod.ts";
import type { BlobExchange } from "../blobs/blobs.ts";
import type { Hosting } from "../host/hosting.ts";
import type { DpeResolver } from "../resources/dpe.ts";
import type { ResourceWatch } from "../resources/resource_watch.ts";
import type {
  ChangedResource,
  WatchedUris,
} from "../resources/watched_uris.ts";
import type { Skills } from "../skills/skills.ts";
import type { ComputerEvents } from "../tools/events.ts";
import type { RequestOrigin, ToolCalls } from "../tools/tool_calls.ts";
import type { WarnOnce } from "../util/log.ts";
import type { MergedLists } from "./merged_lists.ts";

/** The office that the tools of a host are offered to. */
export interface HostOffice {
  /** The Computer's name in the office. */
  readonly name: string;
  /** The connection to its Server, with the name of the office once the Computer has joined. */
  readonly connection: { readonly office: string | undefined };
  /** Announces changes. */
  changed(...events: ServerEvent[]): void;
  /** Announces that a list of MCP servers changed. */
  listChanged(list: "resources" | "prompts"): void;
  /** Announces that a watched resource changed. */
  updated(changed: ChangedResource): void;
  /** Drops what belongs to an office other than this one. */
  moveTo(office: string | undefined): void;
}

/** The parts of a tool host, for its requests, connections and commands. */
export interface ToolHostParts {
  /** The MCP servers and the inputs. */
  readonly hosting: Hosting;
  /** Emits the events of the host. */
  readonly events: Emitter<ComputerEvents>;
  /** The tool calls. */
  readonly calls: ToolCalls;
  /** The windows and documents of the MCP servers. */
  readonly watch: ResourceWatch;
  /** Other resources that an Agent watches. */
  readonly watched: WatchedUris;
  /** The content that Agents fetch and send in parts. */
  readonly blobs: BlobExchange;
  /** The skills. */
  readonly skills: Skills;
  /** Keeps answers within what the Server takes. */
  readonly lists: MergedLists;
  /** Logs what is left out of answers. */
  readonly warnOnce: WarnOnce;
  /** Publishes documents, if the user registered one. */
  resolver: DpeResolver | undefined;
  /** The office that the tools are offered to. */
  office: HostOffice | undefined;
}

/**
 * Answers one kind of request.
 *
 * @throws {ProtocolError} sent to the Agent as the answer
 */
export type Handler<E extends ClientEvent> = (
  request: ClientEvents[E]["request"],
  parts: ToolHostParts,
  origin: RequestOrigin,
) => ClientEvents[E]["answer"] | Promise<ClientEvents[E]["answer"]>;
