/** What is measured: a stream down, a whole result down, and a file up. */
export type Transfer = "stream" | "result" | "put";

/** Memory of a process in MiB. */
export interface Memory {
  /** Before the transfer. */
  readonly before: number;
  /** The most during it. */
  readonly peak: number;
}

/** What a transfer took. */
export interface TransferCost {
  /** What was measured. */
  readonly transfer: Transfer;
  /** Seconds from the request on. */
  readonly seconds: number;
  /** Memory of each process. */
  readonly memory: Readonly<Record<"server" | "computer" | "agent", Memory>>;
}
