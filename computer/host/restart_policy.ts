/** When an MCP server that was lost, or failed to start, is restarted. */
export interface RestartPolicy {
  /** Delay before the first attempt; doubles with each further one. */
  readonly minDelayMs: number;
  /** Maximum delay before an attempt. */
  readonly maxDelayMs: number;
  /** Randomizes each delay by up to this fraction of it, 0 to 1. */
  readonly jitter: number;
  /** Run time after which earlier failures no longer count. */
  readonly healthyMs: number;
}

/** A server that crashes once is back at once; one that keeps crashing costs next to nothing. */
export const RESTART_POLICY: RestartPolicy = {
  minDelayMs: 100,
  maxDelayMs: 60_000,
  jitter: 0.5,
  healthyMs: 10_000,
};

/**
 * Returns the number of failures in a row that count after a running server was lost.
 *
 * @param failures the number before it ran
 * @param ranMs how long it ran
 */
export const failuresAfterLoss = (
  failures: number,
  ranMs: number,
  { healthyMs }: Pick<RestartPolicy, "healthyMs">,
): number => ranMs >= healthyMs ? 0 : failures;
