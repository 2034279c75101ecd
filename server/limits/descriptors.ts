import process from "node:process";

/**
 * Bounds of the quarter of all descriptors that is reserved for everything but sockets. Deno accepts
 * up to 128 connections in one turn, and closes refused ones only after it.
 */
const RESERVED_DESCRIPTORS = { least: 128 + 64, most: 1024 } as const;

/** The minimum number of descriptors to try at once where the limit is unknown. */
const DESCRIPTOR_STEP = 256;

/** Parses the soft limit of open files from `/proc/self/limits`; `undefined` if it is missing. */
export function readOpenFiles(limits: string): number | undefined {
  const [, soft] = /^Max open files\s+(\d+|unlimited)\s/m.exec(limits) ?? [];
  if (soft === undefined) return undefined;
  return soft === "unlimited" ? Infinity : Number(soft);
}

/** Returns how many of a number of descriptors may be sockets. */
export const socketsWithin = (descriptors: number): number => {
  const quarter = Math.ceil(descriptors / 4);
  const reserved = Math.max(
    RESERVED_DESCRIPTORS.least,
    Math.min(quarter, RESERVED_DESCRIPTORS.most),
  );
  return Math.max(1, descriptors - reserved);
};

/** Provides the number of descriptors of the process. */
export interface DescriptorSource {
  /** Returns the limit; `undefined` where it is unknown. */
  limit(): number | undefined;
  /** Returns how many of `count` more can be opened right now; `undefined` where that is unknown. */
  openable(count: number): number | undefined;
}

/**
 * Limits the number of sockets so that enough descriptors are left for everything else.
 *
 * Where the limit is unknown, it is explored as the number of sockets grows: each trial opens as many
 * descriptors as there are sockets, so that all trials together cost about as much as the sockets.
 */
export class DescriptorBudget {
  readonly #source: DescriptorSource;
  /** The number of sockets known to fit. */
  #sockets = 0;
  /** Whether that is the limit, and needs no more trials. */
  #isFinal = false;

  constructor(source: DescriptorSource = system) {
    this.#source = source;
    const limit = source.limit();
    if (limit === undefined) return;
    this.#sockets = socketsWithin(limit);
    this.#isFinal = true;
  }

  /** Returns whether another socket fits in addition to `open` ones. */
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

/** Not imported: it is missing where nothing has descriptors. */
const files = () => process.getBuiltinModule("node:fs");

const system: DescriptorSource = {
  limit() {
    const file = "/proc/self/limits";
    try {
      return mayRead(file)
        ? readOpenFiles(files().readFileSync(file, "utf8"))
        : undefined;
    } catch {
      return undefined; // another system, or Deno without all permissions
    }
  },
  openable(count) {
    const { devNull } = process.getBuiltinModule("node:os");
    if (!mayRead(devNull)) return undefined;
    const { closeSync, openSync } = files();
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

/** The part of the `Deno` global that is used. */
interface Runtime {
  readonly permissions: {
    querySync(what: { name: "read"; path: string }): { state: string };
  };
}

/** Returns whether a file can be read without a permission prompt. */
function mayRead(path: string): boolean {
  const runtime = Reflect.get(globalThis, "Deno") as Runtime | undefined;
  return runtime === undefined ||
    runtime.permissions.querySync({ name: "read", path }).state === "granted";
}
