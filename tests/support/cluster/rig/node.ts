import { fileURLToPath } from "node:url";
import { type Child, start } from "../../child.ts";
import { type AuditLine, type NodeHistory, readAudit } from "./audit_log.ts";

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
  /** Resolves with its exit code. */
  readonly exited: Promise<number>;
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
  /** The URL of Redis; none for a Server alone. */
  redis?: string;
  /** Further flags. */
  flags?: readonly string[];
  /** Variables of its environment. */
  env?: Readonly<Record<string, string>>;
  /** Its program with its first arguments; default `server/main.ts` in Deno. */
  program?: readonly [string, ...string[]];
}

const root = fileURLToPath(new URL("../../../../", import.meta.url));

/** With only the documented permissions. */
const IN_DENO: readonly [string, ...string[]] = [
  Deno.execPath(),
  ...["run", "--no-prompt", "--frozen"],
  ...["--allow-net", "--allow-env", "--allow-read"],
  "server/main.ts",
];

/** Starts a Server; resolves when it takes clients. */
export async function startNode(
  { name, redis, flags = [], env = {}, program = IN_DENO }: NodeOptions,
): Promise<TestNode> {
  const audit: AuditLine[] = [];
  const [command, ...first] = program;
  const child = start(command, [
    ...first,
    ...["--port", "0", "--log-format", "json"],
    ...(redis === undefined ? [] : ["--cluster", redis]),
    ...flags,
  ], {
    cwd: root,
    env: { ...env },
    onLine(line) {
      const read = readAudit(line);
      if (read) audit.push(read);
    },
  });
  try {
    const [url = ""] = await child.line(/https?:\/\/127\.0\.0\.1:\d+/);
    return newNode(name, url, child, audit);
  } catch (error) {
    child.signal("SIGKILL");
    await child.status;
    throw error;
  }
}

function newNode(
  name: string,
  url: string,
  child: Child,
  audit: AuditLine[],
): TestNode {
  const frozen: [number, number | undefined][] = [];
  let endedAt: number | undefined;
  let wasEnded = false;
  const exited = child.status.then(({ code }) => {
    endedAt ??= Date.now();
    return code;
  });
  const end = async () => {
    wasEnded = true;
    if (endedAt === undefined) {
      child.signal("SIGKILL"); // reaches one that is stopped as well
      endedAt = Date.now();
    }
    await exited;
  };
  return {
    name,
    url,
    pid: child.pid,
    startedAt: performance.now(),
    lines: child.lines,
    audit,
    frozen,
    get endedAt() {
      return endedAt;
    },
    get isRunning() {
      return endedAt === undefined;
    },
    get wasEnded() {
      return wasEnded;
    },
    exited,
    line: (pattern) => child.line(pattern),
    kill: end,
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
    [Symbol.asyncDispose]: end,
  };
}
