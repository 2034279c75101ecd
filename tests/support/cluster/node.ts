import { fileURLToPath } from "node:url";
import { start } from "../child.ts";

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

/** A Server of a cluster, in a process of its own. */
export interface TestNode extends NodeHistory, AsyncDisposable {
  /** Its address for clients. */
  readonly url: string;
  readonly pid: number;
  /** All lines of its output. */
  readonly lines: readonly string[];
  /** When it took clients first, as `performance.now()`. */
  readonly startedAt: number;
  /** Whether its process runs, or is stopped by {@linkcode TestNode.freeze}. */
  readonly isRunning: boolean;
  /** Whether the test ended it, or asked it to end. */
  readonly wasEnded: boolean;
  /** Resolves with the first line that matches, past or future. */
  line(pattern: RegExp): Promise<RegExpMatchArray>;
  /** Ends its process without a word. */
  kill(): Promise<void>;
  /** Stops its process; connections stay open. */
  freeze(): void;
  /** Continues it. */
  thaw(): void;
  /** Asks it to drain and to end (SIGTERM); resolves with its exit code. */
  drain(): Promise<number>;
}

/** How to start a node. */
export interface NodeOptions {
  /** Its name in messages of the tests. */
  name: string;
  /** The URL of Redis. */
  redis: string;
  /** Further flags. */
  flags?: readonly string[];
  /** Its program with its first arguments; default `server/main.ts` in Deno. */
  program?: readonly [string, ...string[]];
}

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** With only the documented permissions. */
const IN_DENO: readonly [string, ...string[]] = [
  Deno.execPath(),
  ...["run", "--no-prompt", "--frozen"],
  ...["--allow-net", "--allow-env", "--allow-read"],
  "server/main.ts",
];

/** Starts a Server; resolves when it takes clients. */
export async function startNode(
  { name, redis, flags = [], program = IN_DENO }: NodeOptions,
): Promise<TestNode> {
  const audit: AuditLine[] = [];
  const frozen: [number, number | undefined][] = [];
  let endedAt: number | undefined;
  let wasEnded = false;
  const [command, ...first] = program;
  const child = start(command, [
    ...first,
    ...["--port", "0", "--log-format", "json", "--cluster", redis],
    ...flags,
  ], {
    cwd: root,
    onLine(line) {
      const read = readAudit(line);
      if (read) audit.push(read);
    },
  });
  const exited = child.status.then(({ code }) => {
    endedAt ??= Date.now();
    return code;
  });
  const kill = async () => {
    wasEnded = true;
    if (endedAt === undefined) {
      child.signal("SIGKILL"); // reaches one that is stopped as well
      endedAt = Date.now();
    }
    await exited;
  };
  const listening = child.line(/https?:\/\/127\.0\.0\.1:\d+/);
  const [url] = await listening.catch(async (error) => {
    await kill();
    throw error;
  });
  const { pid, lines } = child;
  return {
    name,
    url,
    pid,
    lines,
    audit,
    frozen,
    kill,
    startedAt: performance.now(),
    get endedAt() {
      return endedAt;
    },
    get isRunning() {
      return endedAt === undefined;
    },
    get wasEnded() {
      return wasEnded;
    },
    line: (pattern) => child.line(pattern),
    freeze() {
      frozen.push([Date.now(), undefined]);
      child.signal("SIGSTOP");
    },
    thaw() {
      const last = frozen.at(-1);
      if (last) last[1] = Date.now();
      child.signal("SIGCONT");
    },
    drain() {
      wasEnded = true;
      child.signal("SIGTERM");
      return exited;
    },
    [Symbol.asyncDispose]: kill,
  };
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
  const { logger, time, message, ...fields } = parsed;
  if (!String(logger).endsWith("audit")) return undefined;
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

/**
 * Returns the names of different Agents that were served in one office at one time: there must be none.
 *
 * The same Agent that takes its own seat over by its `instance_id` is not another one.
 */
export function rivals(nodes: readonly NodeHistory[]): [string, string][] {
  const served = nodes.flatMap((node) =>
    node.audit.filter(({ event, role }) =>
      event === "joined" && role === "agent"
    ).map((line) => ({ ...line, to: servedUntil(node, line) }))
  ).toSorted((a, b) => a.time - b.time);
  return served.flatMap((one, i) =>
    served.slice(i + 1).filter((other) =>
      other.office === one.office && other.name !== one.name &&
      other.time < one.to
    ).map((other): [string, string] => [one.name ?? "", other.name ?? ""])
  );
}

/**
 * When the service of an Agent has ended, by the log of its own node: that of another proves nothing.
 *
 * A process that is stopped serves nobody. If it then ended the membership without a call of this
 * Agent that began after it went on, the service ended when it was stopped.
 */
function servedUntil(
  { audit, frozen, endedAt = Infinity }: NodeHistory,
  { socket, name, office, time }: AuditLine,
): number {
  const left = audit.find((line) =>
    line.event === "left" && line.socket === socket
  )?.time;
  const stops = frozen.filter(([stopped, went]) =>
    stopped >= time && stopped <= (left ?? Infinity) &&
    (left !== undefined || went === undefined) &&
    !audit.some((call) =>
      call.agent === name && call.office === office && call.outcome === "ok" &&
      went !== undefined && call.time - (call.ms ?? 0) >= went
    )
  );
  return Math.min(left ?? Infinity, endedAt, ...stops.map(([at]) => at));
}
