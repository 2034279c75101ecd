/** A line of a node's log about its members and calls. */
export interface AuditLine {
  /** Milliseconds since 1970; all nodes of a test have one clock. */
  readonly time: number;
  readonly event: string;
  readonly office?: string;
  readonly role?: string;
  readonly name?: string;
  readonly socket?: string;
  readonly agent?: string;
  readonly outcome?: string;
  /** Duration of a call. */
  readonly ms?: number;
}

/** What a node wrote, and what the test did to its process. */
export interface NodeHistory {
  readonly name: string;
  readonly audit: readonly AuditLine[];
  /** When its process ended, if it has. */
  readonly endedAt: number | undefined;
  /** When its process was stopped, and when it went on, if it has. */
  readonly frozen: readonly (readonly [number, number | undefined])[];
}

/** An Agent that was served, by the log of its own node. */
export interface Served {
  readonly node: string;
  readonly office: string;
  readonly agent: string;
  readonly socket: string;
  readonly from: number;
  /** `Infinity` while it is served. */
  readonly to: number;
}

/** Reads a line of the log; `undefined` for one that is not of the audit log. */
export function readAudit(line: string): AuditLine | undefined {
  if (!line.startsWith("{")) return undefined;
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(line);
  } catch {
    return undefined; // cut off in the middle by a kill
  }
  if (!String(parsed["logger"]).endsWith("audit")) return undefined;
  const { time, message, ...fields } = parsed;
  return {
    ...fields,
    time: Date.parse(String(time)),
    event: String(message),
  };
}

/** The members that a node still serves, by its own log. */
export function membersOf({ audit }: Pick<NodeHistory, "audit">): AuditLine[] {
  const members = new Map<string, AuditLine>();
  for (const line of audit) {
    if (line.socket === undefined) continue;
    if (line.event === "joined") members.set(line.socket, line);
    if (line.event === "left") members.delete(line.socket);
  }
  return [...members.values()];
}

/** When which Agent was served, of all nodes. */
export const servedAgents = (nodes: readonly NodeHistory[]): Served[] =>
  nodes.flatMap((node) => {
    const joined = node.audit.filter(({ event, role }) =>
      event === "joined" && role === "agent"
    );
    return joined.map((line): Served => {
      const { socket = "", office = "", name = "", time } = line;
      // A line of another node about this member proves nothing: only its own node knows.
      const left = node.audit.find((other) =>
        other.event === "left" && other.socket === socket
      );
      const from = time;
      const to = Math.min(
        left?.time ?? Infinity,
        node.endedAt ?? Infinity,
        woken(node, { name, office }, from, left?.time),
      );
      return { node: node.name, office, agent: name, socket, from, to };
    });
  });

/**
 * When an Agent lost its service by a freeze that it did not outlive.
 *
 * A process that is stopped serves nobody. If it then ended the membership without a call of this
 * Agent that began after it went on, the service ended when it was stopped.
 */
function woken(
  { frozen, audit }: NodeHistory,
  { name, office }: { readonly name: string; readonly office: string },
  from: number,
  left: number | undefined,
): number {
  for (const [stopped, went] of frozen) {
    if (stopped < from || left !== undefined && left < stopped) continue;
    const calls = audit.filter((line) =>
      line.agent === name && line.office === office &&
      line.outcome === "ok" && went !== undefined &&
      line.time - (line.ms ?? 0) >= went
    );
    const isOver = left !== undefined || went === undefined;
    if (isOver && calls.length === 0) return stopped;
  }
  return Infinity;
}

/**
 * Returns the pairs of different Agents that were served in one office at one time: there must be none.
 *
 * The same Agent that takes its own seat over by its `instance_id` is not another one.
 */
export function rivals(served: readonly Served[]): [Served, Served][] {
  const found: [Served, Served][] = [];
  const byOffice = Map.groupBy(served, ({ office }) => office);
  for (const group of byOffice.values()) {
    const sorted = group.toSorted((a, b) => a.from - b.from);
    for (const [i, one] of sorted.entries()) {
      for (const other of sorted.slice(i + 1)) {
        if (other.agent !== one.agent && other.from < one.to) {
          found.push([one, other]);
        }
      }
    }
  }
  return found;
}
