import { assertEquals } from "@std/assert";
import { sumMetrics } from "../../../../server/workers/sum_metrics.ts";

const text = (members: number, lag: number, more = "") =>
  `# HELP smcp_members Members.
# TYPE smcp_members gauge
smcp_members ${members}
# HELP smcp_events_total Events.
# TYPE smcp_events_total counter
smcp_events_total{event="a"} 2
${more}# HELP smcp_event_loop_lag_seconds Lag.
# TYPE smcp_event_loop_lag_seconds gauge
smcp_event_loop_lag_seconds ${lag}
# HELP smcp_event_duration_seconds Times.
# TYPE smcp_event_duration_seconds histogram
smcp_event_duration_seconds_bucket{le="+Inf"} 1
smcp_event_duration_seconds_sum 0.5
`;

Deno.test("sumMetrics() adds counts by labels, and takes the greatest of times", () => {
  const more = 'smcp_events_total{event="b c"} 1\n';
  assertEquals(
    sumMetrics([text(1, 0.25), "", text(2, 0.5, more)]),
    text(3, 0.5, more)
      .replace('{event="a"} 2', '{event="a"} 4')
      .replace('{le="+Inf"} 1', '{le="+Inf"} 2')
      .replace("_sum 0.5", "_sum 1"),
  );
});

Deno.test("sumMetrics() of one object changes nothing", () => {
  assertEquals(sumMetrics([text(1, 0.25)]), text(1, 0.25));
});
