import type { Emitter } from "../../client/emitter.ts";
import type { ServerEvent, ToolCallProgress } from "../../protocol/mod.ts";
import type { Hosting } from "../host/hosting.ts";
import type { Skills } from "../skills/skills.ts";
import type { ChangedResource } from "../resources/watched_uris.ts";
import type { ComputerEvents } from "./computer_events.ts";
import type { ComputerRequestHandler } from "./request_handler.ts";

/** The office that the tools of a host are offered to. */
export interface OfficeOutlet {
  /** The name of the Computer. */
  readonly name: string;
  /** The Server's limit for messages in bytes, if known. */
  readonly maxPayload: number | undefined;
  /** Announces changes to the office. */
  changed(...events: ServerEvent[]): void;
  /** Tells of a resource that the Agent watches. */
  updated(changed: ChangedResource): void;
  /** Tells an Agent how far its call is. */
  progressed(progress: Omit<ToolCallProgress, "computer">): void;
}

/** The parts of a tool host, for connections and commands. */
export interface ToolHostParts {
  /** The MCP servers and the inputs. */
  readonly hosting: Hosting;
  /** The skills. */
  readonly skills: Skills;
  /** Answers requests. */
  readonly requests: ComputerRequestHandler;
  /** Emits the events of the host. */
  readonly events: Emitter<ComputerEvents>;
  /** Offers the tools to an office. */
  attach(office: OfficeOutlet): void;
}
