import type { Emitter } from "../../client/emitter.ts";
import type { ServerEvent } from "../../protocol/mod.ts";
import type { Hosting } from "../host/hosting.ts";
import type { ComputerEvents } from "./computer_events.ts";
import type { ComputerRequestHandler } from "./request_handler.ts";

/** The office that the tools of a host are offered to. */
export interface OfficeOutlet {
  /** The largest message that its Server takes, in bytes, if it is known. */
  readonly maxPayload: number | undefined;
  /** Tells the office what changed. */
  changed(...events: ServerEvent[]): void;
}

/** What a tool host is made of, for a connection and for the commands. */
export interface ToolHostParts {
  /** The MCP servers and the inputs. */
  readonly hosting: Hosting;
  /** Answers requests. */
  readonly requests: ComputerRequestHandler;
  /** Tells what happens. */
  readonly events: Emitter<ComputerEvents>;
  /** Offers the tools to an office. */
  attach(office: OfficeOutlet): void;
}
