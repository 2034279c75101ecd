import { closeSync, openSync, readFileSync } from "node:fs";
import { devNull } from "node:os";

/**
 * Descriptors that are left for everything but sockets: a quarter, within bounds. In one turn Deno
 * accepts up to 128 connections, and has closed none of those that are refused before the next.
 */
const RESERVED_DESCRIPTORS = { least: 128 + 64, most: 1024 } as const;

/** How many descriptors more are tried out at least, where nobody tells how many there are. */
const DESCRIPTOR_STEP = 256;

/** The soft limit of open files in the text of `/proc/self/limits`; `undefined` when it has none. */
export function readOpenFiles(limits: string): number | undefined {
  const [, soft] = /^Max open files\s+(\d+|unlimited)\s/m.exec(limits) ?? [];
  if (soft === undefined) return undefined;
  return soft === "unlimited" ? Infinity : Number(soft);
}

/** How many of so many descriptors may be sockets. */
export const socketsWithin = (descriptors: number): number => {
  const quarter = Math.ceil(descriptors / 4);
  const reserved = Math.max(
    RESERVED_DESCRIPTORS.least,
    Math.min(quarter, RESERVED_DESCRIPTORS.most),
  );
  return Math.max(1, descriptors - reserved);
};

/** What tells how many descriptors the process has. */
export interface DescriptorSource {
  /** The limit, where the system tells. */
  limit(): number | undefined;
  /** Tries how many of `count` more can be had just now; `undefined` when that cannot be told. */
  openable(count: number): number | undefined;
}

/**
 * How many sockets leave the process the descriptors that it needs for everything else.
 *
 * Where the system does not tell the limit, it is found by trying as the sockets become more: each
 * time half as many again, so that all trials together cost about what the sockets do.
 */
export class DescriptorRoom {
  readonly #source: DescriptorSource;
  /** So many sockets have room. */
  #sockets = 0;
  /** Whether more than that never have. */
  #isFinal = false;

  constructor(source: DescriptorSource = system) {
    this.#source = source;
    const limit = source.limit();
    if (limit === undefined) return;
    this.#sockets = socketsWithin(limit);
    this.#isFinal = true;
  }

  /** Tells whether there is room for one more beside `open` sockets. */
  allows(open: number): boolean {
    if (open >= this.#sockets && !this.#isFinal) this.#explore(open);
    return open < this.#sockets;
  }

  #explore(open: number): void {
    const wanted = Math.max(DESCRIPTOR_STEP, open);
    const found = this.#source.openable(wanted);
    if (found === undefined) this.#sockets = Infinity;
    else this.#sockets = socketsWithin(open + found);
    this.#isFinal = found === undefined || found < wanted;
  }
}

/** What this process may ask. */
const system: DescriptorSource = {
  limit() {
    const file = "/proc/self/limits";
    try {
      return mayRead(file)
        ? readOpenFiles(readFileSync(file, "utf8"))
        : undefined;
    } catch {
      return undefined; // another system, or Deno without all permissions
    }
  },
  openable(count) {
    if (!mayRead(devNull)) return undefined;
    const opened: number[] = [];
    try {
      while (opened.length < count) opened.push(openSync(devNull, "r"));
      return count;
    } catch (error) {
      return isExhausted(error) ? opened.length : undefined;
    } finally {
      for (const descriptor of opened) closeSync(descriptor);
    }
  },
};

const isExhausted = (error: unknown): boolean =>
  error instanceof Error && "code" in error &&
  (error.code === "EMFILE" || error.code === "ENFILE");

/** What there is of the global of Deno. */
interface Runtime {
  readonly permissions: {
    querySync(what: { name: "read"; path: string }): { state: string };
  };
}

/** Whether a file can be read without a question to whoever sits at the terminal. */
function mayRead(path: string): boolean {
  const runtime = Reflect.get(globalThis, "Deno") as Runtime | undefined;
  return runtime === undefined ||
    runtime.permissions.querySync({ name: "read", path }).state === "granted";
}
