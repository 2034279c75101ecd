/** The results of the benchmark of Agent and Computer; plain data, also for JSON. */
export interface EndsResult {
  /** The cost of a tool call, compared with the same direct MCP call. */
  readonly overhead: Overhead;
  /** Start-up and memory of the commands. */
  readonly commands: readonly CommandCost[];
  /** The Agent for browsers. */
  readonly bundle: BundleSize;
}

/** The cost of a tool call, by the size of its argument, which is also that of its answer. */
export interface Overhead {
  /** The number of rounds, whose medians are shown. */
  readonly rounds: number;
  /** Calls of a path in a round. */
  readonly calls: number;
  /** From the smallest to the largest. */
  readonly payloads: readonly PayloadOverhead[];
}

/** The ways that a call can take. */
export const PATHS = ["direct", "agent", "here", "vrl"] as const;

/** One of {@linkcode PATHS}. */
export type Path = typeof PATHS[number];

/** The figures of one size. */
export interface PayloadOverhead {
  /** Bytes of the argument. */
  readonly bytes: number;
  /** Costs by the way of the calls; older results lack `here`, where all is in one process. */
  readonly paths:
    & Readonly<Record<Exclude<Path, "here">, PathCost>>
    & { readonly here?: PathCost };
}

/** A figure of several rounds. */
export interface Range {
  readonly low: number;
  /** The median. */
  readonly mid: number;
  readonly high: number;
}

/** The cost of one way; each figure is the median over the rounds. */
export interface PathCost {
  /** Median time of a call, µs. */
  readonly p50: number;
  /** The same compared with the direct call in the same round; older results lack it. */
  readonly ratio?: Range;
  /** Median time of each part of a call, µs; missing parts are absent. */
  readonly stages: Readonly<Partial<Record<Stage, number>>>;
  /** CPU time of a call by process, µs; empty where the operating system does not provide it. */
  readonly cpu: Readonly<Record<string, number>>;
}

/** The parts of a call in order, with descriptions. */
export const STAGES = {
  agentOut: "Agent: sign, encode",
  server: "Server and both wires, there and back, all system calls",
  decode: "Computer: decode the packet, check the request",
  rules: "Computer: repeats, name, confirmation, timer",
  mcpOut: "MCP client: request",
  mcpServer: "MCP server, and the pipes to it and back",
  mcpIn: "MCP client: read, parse, match",
  answer: "Computer: check the answer, run VRL",
  limits: "Computer: keep for repeats, depth and size",
  encode: "Computer: encode",
  agentIn: "Agent: decode, check",
} as const;

/** One of {@linkcode STAGES}. */
export type Stage = keyof typeof STAGES;

/** The cost of starting a command. */
export interface CommandCost {
  /** `server`, `up`, `computer`, `agent`, `agent call`, or `nothing` for a program of one line. */
  readonly command: string;
  /** Name and version of the runtime. */
  readonly runtime: string;
  /** Median milliseconds until it is ready. */
  readonly ready: number;
  /** Median resident memory in MiB at that time; absent where the operating system does not provide it. */
  readonly memory?: number;
}

/** Sizes of the Agent as one file for browsers, in bytes. */
export interface BundleSize {
  /** The output of esbuild. */
  readonly minified: number;
  /** The same with `gzip -9`. */
  readonly gzip: number;
  /** The same with Brotli. */
  readonly brotli: number;
  /** Bytes of the minified file by package, the largest first. */
  readonly parts: readonly (readonly [name: string, bytes: number])[];
}
