import type { Goal } from "../report/goals.ts";
import type { Spread } from "../statistics.ts";
import type { OperatorResult } from "./mod.ts";

/** Most hundredths of one core that ten streams add. */
const STREAMS_PERCENT = 5;
/** Most hundredths that the API adds while nobody looks on: what cannot be measured. */
const CLOSED_PERCENT = 1;

const percent = ({ low, mid, high }: Spread) =>
  `${mid.toFixed(1)} % of a core (${low.toFixed(1)} to ${high.toFixed(1)})`;

/** Returns which goals those who look on meet. */
export function operatorGoals(
  { plan, without, closed, open, megabytes, events }: OperatorResult,
): Goal[] {
  return [
    {
      figure: `${plan.rate} calls/s without the operator API`,
      goal: "report only",
      measured: percent(without),
    },
    {
      figure: "the API adds, with nobody looking on",
      goal: `≤ ${CLOSED_PERCENT} %`,
      measured: percent(closed),
      met: closed.mid <= CLOSED_PERCENT,
    },
    {
      figure: `${plan.streams} open streams add`,
      goal: `≤ ${STREAMS_PERCENT} %`,
      measured: percent(open),
      met: open.mid <= STREAMS_PERCENT,
    },
    {
      figure: "one stream",
      goal: "report only",
      measured: `${megabytes.toFixed(2)} MB/s, ${
        events.toFixed(2)
      } events a call`,
    },
  ];
}
