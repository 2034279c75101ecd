import type { BackoffLimits } from "../../client/backoff.ts";

/** When an MCP server that was lost, or could not start, is started again. */
export interface RestartPolicy extends BackoffLimits {
  /** Milliseconds of running after which earlier failures no longer count. */
  readonly healthyMs: number;
}

/** One that crashes is back at once; one that crashes again and again costs next to nothing. */
export const RESTART_POLICY: RestartPolicy = {
  first: 100,
  most: 60_000,
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
