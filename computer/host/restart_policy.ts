/** When an MCP server that was lost, or could not start, is started again. */
export interface RestartPolicy {
  /** Milliseconds before the first attempt; doubles with each further one. */
  readonly minDelayMs: number;
  /** Maximum number of milliseconds before an attempt. */
  readonly maxDelayMs: number;
  /** Randomizes each delay by up to this fraction of it, 0 to 1. */
  readonly jitter: number;
  /** Milliseconds of running after which earlier failures no longer count. */
  readonly healthyMs: number;
}

/** One that crashes is back at once; one that crashes again and again costs next to nothing. */
export const RESTART_POLICY: RestartPolicy = {
  minDelayMs: 100,
  maxDelayMs: 60_000,
  jitter: 0.5,
  healthyMs: 10_000,
};

/**
 * How many failures in a row count once a server that ran is lost.
 *
 * @param failures how many counted before it ran
 * @param ranMs for how long it ran
 */
export const failuresAfterLoss = (
  failures: number,
  ranMs: number,
  { healthyMs }: Pick<RestartPolicy, "healthyMs">,
): number => ranMs >= healthyMs ? 0 : failures;
