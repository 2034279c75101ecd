/**
 * What a person has allowed for later calls, too: permissions for an hour or for good, and late answers to
 * calls that had timed out.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { LIMITS } from "../../shared/approvals/question.ts";
import { isSame } from "./conditions.ts";
import { log } from "../util/log.ts";
import { reasonOf } from "../util/values.ts";

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

/** A call that would be asked about: who calls which tool of which program, and with what. */
export interface AskedCall
  extends Pick<Permission, "agent" | "operator" | "bundleId" | "tool"> {
  readonly params: Readonly<Record<string, unknown>>;
  /** The argument that may have any value, where the rule that asks names one. */
  readonly open?: string;
  /** The hash of the tool's definition. */
  readonly definition: string;
  /** The hash of what the MCP server is. */
  readonly configuration: string;
}

/** How long "for an hour" holds, and for how many calls, the one that asked included. */
export const HOUR: { readonly ms: number; readonly uses: number } = {
  ms: 3_600_000,
  uses: 20,
};
/** A person reads all of them; beyond this the oldest ends. */
const MAX_PERMISSIONS = 200;

/** The permissions of a Computer. */
export class Permissions implements PermissionList {
  readonly #store: PermissionStore | undefined;
  readonly #now: () => number;
  readonly #changed: () => void;
  #all: Permission[] = [];
  #reading: Promise<void> | undefined;
  #isRead = false;
  /** The writes so far, one after the other. */
  #writing: Promise<void> = Promise.resolve();

  /**
   * @param now in milliseconds since 1970
   * @param changed called when one was added, used, or has ended
   */
  constructor(
    store: PermissionStore | undefined,
    now: () => number,
    changed: () => void,
  ) {
    this.#store = store;
    this.#now = now;
    this.#changed = changed;
    this.#isRead = store === undefined;
  }

  /** Reads what is stored, once; undefined when it is read. */
  ready(): Promise<void> | undefined {
    return this.#isRead ? undefined : this.#reading ??= this.#read();
  }

  list(): readonly Permission[] {
    this.#dropEnded();
    return [...this.#all];
  }

  remove(id: string): boolean {
    const all = this.#all.filter((each) => each.id !== id);
    const isThere = all.length < this.#all.length;
    if (isThere) this.#replace(all);
    return isThere;
  }

  /** Remembers a yes to a call, and to those like it; the call itself is the first use. */
  grant(
    call: AskedCall,
    given: Permission["given"],
    covers: string,
  ): void {
    const { params, open, ...about } = call;
    const { [open ?? ""]: _, ...fixed } = params;
    const isOpen = open !== undefined && Object.hasOwn(params, open);
    const permission: Permission = {
      id: randomUUID().slice(0, 8),
      given,
      ...about,
      covers,
      ...(given === "hour" && {
        untilMs: this.#now() + HOUR.ms,
        usesLeft: HOUR.uses - 1,
        fixed: isOpen ? fixed : params,
        ...(isOpen && { open }),
      }),
    };
    this.#replace([...this.#all, permission].slice(-MAX_PERMISSIONS));
  }

  /**
   * Uses a permission for a call, if there is one. Those of another definition or another program end, since
   * what was allowed is not there any more.
   */
  use(call: AskedCall): boolean {
    if (this.#all.length === 0) return false;
    this.#dropEnded((each) =>
      each.bundleId === call.bundleId && (
        each.configuration !== call.configuration ||
        each.tool === call.tool && each.definition !== call.definition
      )
    );
    const found = this.#all.find((each) => covers(each, call));
    if (found === undefined) return false;
    const { usesLeft } = found;
    if (usesLeft === undefined) return true;
    this.#replace(
      this.#all.flatMap((each) =>
        each !== found
          ? [each]
          : usesLeft > 1
          ? [{ ...each, usesLeft: usesLeft - 1 }]
          : []
      ),
    );
    return true;
  }

  #dropEnded(isGone: (permission: Permission) => boolean = () => false): void {
    const now = this.#now();
    const all = this.#all.filter((each) =>
      now < (each.untilMs ?? Infinity) && !isGone(each)
    );
    if (all.length < this.#all.length) this.#replace(all);
  }

  #replace(all: Permission[]): void {
    this.#all = all;
    this.#changed();
    const store = this.#store;
    if (!store) return;
    this.#writing = this.#writing.then(() => store.write(all))
      .catch((error) =>
        log.warn("Cannot keep the permissions: {reason}", {
          reason: reasonOf(error),
        })
      );
  }

  async #read(): Promise<void> {
    try {
      const stored = await this.#store?.read() ?? [];
      // The clock may have been set back since it was given.
      const latest = this.#now() + HOUR.ms;
      const read = stored.map((each) =>
        each.untilMs !== undefined && each.untilMs > latest
          ? { ...each, untilMs: latest }
          : each
      );
      this.#all = [...read, ...this.#all];
      this.#changed();
    } catch (error) {
      log.warn("Cannot read the permissions, so none holds: {reason}", {
        reason: reasonOf(error),
      });
    } finally {
      this.#isRead = true;
    }
  }
}

/** Returns whether two calls are of one caller, with one tool of one program. */
const isAlike = (
  a: Omit<AskedCall, "params" | "open">,
  b: Omit<AskedCall, "params" | "open">,
): boolean =>
  a.agent === b.agent && a.operator === b.operator &&
  a.bundleId === b.bundleId && a.tool === b.tool &&
  a.definition === b.definition && a.configuration === b.configuration;

/** Returns whether a permission is about a call. */
function covers(permission: Permission, call: AskedCall): boolean {
  const { fixed, open } = permission;
  if (!isAlike(permission, call)) return false;
  if (fixed === undefined) return true;
  if (open === undefined) return isSame(fixed, call.params);
  const { [open]: _, ...others } = call.params;
  return Object.hasOwn(call.params, open) && isSame(fixed, others);
}

/** The most late answers that wait for their call. */
const MAX_TICKETS = 20;

/** Late answers: each lets one call run that is repeated unchanged within ten minutes. */
export class Tickets {
  readonly #now: () => number;
  #all: { readonly call: AskedCall; readonly untilMs: number }[] = [];

  /** @param now in milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Keeps a late yes. */
  add(call: AskedCall): void {
    const untilMs = this.#now() + LIMITS.lateMs;
    this.#all = [...this.#all, { call, untilMs }].slice(-MAX_TICKETS);
  }

  /** Forgets those of some calls. */
  drop(isGone: (call: AskedCall) => boolean): void {
    this.#all = this.#all.filter(({ call }) => !isGone(call));
  }

  /** Uses the ticket of a call, if there is one. */
  take(call: AskedCall): boolean {
    if (this.#all.length === 0) return false;
    const now = this.#now();
    this.#all = this.#all.filter(({ untilMs }) => now < untilMs);
    const at = this.#all.findIndex((ticket) => isEqualCall(ticket.call, call));
    if (at < 0) return false;
    this.#all.splice(at, 1);
    return true;
  }
}

/** Returns whether a call repeats another one. */
export const isEqualCall = (a: AskedCall, b: AskedCall): boolean =>
  isAlike(a, b) && isSame(a.params, b.params);
