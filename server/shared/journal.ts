import type { Waiting } from "../../protocol/mod.ts";
import { audit, type AuditEvent } from "./audit.ts";
import type { CallEnd } from "./call_end.ts";

/** A request of an Agent to a Computer, as an onlooker is told of it. */
interface SeenCall {
  readonly office: string;
  readonly agent: string;
  readonly computer: string;
  readonly req_id: string;
  /** The event, such as `client:tool_call`. */
  readonly request: string;
  /** The tool, of a tool call. */
  readonly tool?: string;
  /** Who the Agent is authenticated as. */
  readonly principal?: string;
  /** The size of the request, or of the answer, where it is known without encoding it. */
  readonly bytes?: number;
}

/** What an onlooker is told. */
export type SeenEvent =
  | AuditEvent
  /** A request passed its checks; `params` only where payloads are switched on. */
  | ({ event: "call_began"; readonly params?: unknown } & SeenCall)
  /** It waits for a person at its Computer, or with `null` no more. */
  | ({ event: "call_waiting"; readonly waiting: Waiting | null } & SeenCall)
  /** A line of the server's log, more than debugging; `omitted` lines before it are not shown. */
  | {
    event: "log";
    readonly level: "info" | "warning" | "error";
    readonly message: string;
    readonly fields?: Readonly<Record<string, unknown>>;
    readonly omitted?: number;
  }
  /** It ended; `result` only where payloads are switched on. */
  | (
    & { event: "call_ended"; readonly ms: number }
    & CallEnd
    & { readonly result?: unknown }
    & SeenCall
  );

/** Told of events while somebody looks on; nobody does most of the time. */
export type Onlooker = (event: SeenEvent) => void;

/** Where a server notes what happens. */
export class Journal {
  /** Told of events. */
  onlooker: Onlooker | undefined;

  /** Whether anybody looks on: only then is it worth telling of calls. */
  get isWatched(): boolean {
    return this.onlooker !== undefined;
  }

  /** Writes a line of the audit log, and tells the onlooker. */
  readonly write = (event: AuditEvent): void => {
    audit(event);
    this.tell(event);
  };

  /** Tells the onlooker alone. */
  tell(event: SeenEvent): void {
    this.onlooker?.(event);
  }
}
