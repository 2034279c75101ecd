/** A yes that holds for later calls, too. */
export interface Permission {
  /** Identifies it, for people to remove it. */
  readonly id: string;
  /** How it was given. */
  readonly given: "hour" | "always";
  /** The caller, as the Server names it. */
  readonly agent: string;
  /** The operator of the Server, where one called. */
  readonly operator?: string;
  /** The MCP server's `bundle_id`. */
  readonly bundleId: string;
  /** The tool's original name. */
  readonly tool: string;
  /** What it covers, in one sentence. */
  readonly covers: string;
  /** When it ends, in milliseconds since 1970; absent: when tool or MCP server change. */
  readonly untilMs?: number;
  /** How many calls it still allows; absent: any number. */
  readonly usesLeft?: number;
  /** The arguments that a call must have; absent: any. */
  readonly fixed?: Readonly<Record<string, unknown>>;
  /** The argument that may have any value beside those, such as the content of a file. */
  readonly open?: string;
  /** The hash of the tool's definition. */
  readonly definition: string;
  /** The hash of what the MCP server is: command, arguments, URL, and how it introduces itself. */
  readonly configuration: string;
}

/** Keeps permissions beyond the end of a Computer; without one they are in memory. */
export interface PermissionStore {
  /** Reads what was last written; called once, before the first question. */
  read(): readonly Permission[] | Promise<readonly Permission[]>;
  /** Writes all permissions, after each change; a failure is logged. */
  write(permissions: readonly Permission[]): void | Promise<void>;
}

/** The permissions of a Computer, for people. */
export interface PermissionList {
  /** Lists those that hold now. */
  list(): readonly Permission[];
  /** Removes one, and returns whether it was there. */
  remove(id: string): boolean;
}
