import type { ConnectionEvents } from "../agent/mod.ts";
import type { AnyNotification } from "../client/options.ts";
import { Connection } from "../client/connection.ts";
import type { ScriptedComputerOptions } from "./options.ts";

/** The events of a scripted Computer. */
export interface ScriptedComputerEvents extends ConnectionEvents {
  /** A notification of the office, such as that a call was cancelled: `notify:tool_call_cancel`. */
  notification: AnyNotification;
}

/** A Computer without MCP servers, which answers as a script says. */
export interface ScriptedComputer extends AsyncDisposable {
  /** Connects to the Server. */
  connect(): Promise<void>;
  /** Joins an office. */
  join(office: string): Promise<void>;
  /** Leaves the office. */
  leave(): Promise<void>;
  /** Adds a listener; returns the function that removes it. */
  on<E extends keyof ScriptedComputerEvents>(
    event: E,
    listener: (value: ScriptedComputerEvents[E]) => unknown,
  ): () => void;
  /**
   * Sends an event to the Server, such as `server:update_tool_list`.
   *
   * @returns `false` without a connection
   */
  send(event: string, payload: object): boolean;
  /** Leaves and disconnects for good. */
  close(): Promise<void>;
}

/** Makes a scripted Computer that is not connected yet. */
export function scriptedComputer(
  options: ScriptedComputerOptions,
): ScriptedComputer {
  const { script, ...connection } = options;
  const computer = new Connection(
    { ...connection, role: "computer" },
    (error) => console.error(error),
  );
  computer.onRequest(script);
  return computer;
}
