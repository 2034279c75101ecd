import type { CallToolResult } from "../../../../protocol/mod.ts";

/** The office that all join. */
export const OFFICE = "interop";
/** The only Computer in it. */
export const COMPUTER = "pc";
/** The only Agent in it. */
export const AGENT = "planner";

/** Notifications of an Agent by name without prefix. */
export type Heard =
  | "enter_office"
  | "leave_office"
  | "update_config"
  | "update_tool_list"
  | "update_desktop"
  | "update_skills";

/** A Server of either kind. */
export interface ServerParty extends AsyncDisposable {
  readonly url: string;
}

/** A skill as an Agent lists it. */
export type Skill = Record<string, unknown> & { name: string };

/** An Agent of either kind; every call is one to the Computer `pc`. */
export interface AgentParty extends AsyncDisposable {
  join(): Promise<void>;
  leave(): Promise<void>;
  /** Resolves when it is in its office again, after its connection was lost. */
  rejoin(): Promise<void>;
  computers(): Promise<string[]>;
  tools(): Promise<Record<string, unknown>[]>;
  call(
    tool: string,
    params?: Record<string, unknown>,
    options?: { computer?: string; timeout?: number },
  ): Promise<CallToolResult>;
  /** A call that `cancel` can end. */
  callAs(reqId: string, tool: string, timeout: number): Promise<CallToolResult>;
  cancel(reqId: string): Promise<void>;
  desktop(): Promise<string[]>;
  config(): Promise<Record<string, unknown>>;
  skills(): Promise<Skill[]>;
  /** A file of a skill, whole; default its `SKILL.md`. */
  skill(
    name: string,
    path?: string,
  ): Promise<{ mimeType: string; bytes: Uint8Array }>;
  /** Puts a file on the Computer, and resolves with its path there. */
  put(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string>;
  /** Resolves with the next unread notification of a name. */
  heard(name: Heard): Promise<unknown>;
  /** Returns how many notifications of a name it did not read. */
  unread(name: Heard): number;
}

/** A Computer of either kind, with the MCP servers of a workplace. */
export interface ComputerParty extends AsyncDisposable {
  join(): Promise<void>;
  leave(): Promise<void>;
  /** Resolves when it is in its office again, after its connection was lost. */
  rejoin(): Promise<void>;
  /** Announces a changed configuration. */
  updateConfig(): Promise<void>;
}
