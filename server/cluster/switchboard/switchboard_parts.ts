import type { Directory } from "../directory/directory.ts";
import type { Messenger } from "../links/links.ts";

/** The parts of a node that {@linkcode Switchboard} needs; they change when it starts again. */
export interface SwitchboardParts {
  /** Who sits where. */
  directory(): Pick<Directory, "node" | "registry">;
  /** Messages to the other nodes. */
  links(): Messenger;
  /** Returns whether this node may serve now. */
  isServing(): boolean;
}

/** What passed between this node and the others. */
export interface SwitchboardCounts {
  /** Calls to Computers of other nodes. */
  readonly callsOut: number;
  /** Calls of other nodes' Agents to Computers here. */
  readonly callsIn: number;
  /** Calls that wait for an answer of another node. */
  readonly callsOpen: number;
}
