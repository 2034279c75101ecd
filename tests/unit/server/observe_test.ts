import parse from "parse-prometheus-text-format";
import { assertEquals } from "@std/assert";
import {
  newCounter,
  newGauge,
  newHistogram,
  textOf,
} from "../../../server/observe/prometheus.ts";

Deno.test("textOf() is read by a parser of Prometheus as it was counted", () => {
  const answered = newCounter("events_total", "Events.");
  answered.count({ event: "join", outcome: "ok" });
  answered.count({ event: "join", outcome: "ok" });
  answered.count({ event: "join", outcome: "refused" });
  const duration = newHistogram("duration_seconds", "Time.", [0.5, 1]);
  for (const value of [0.5, 0.75, 4]) duration.add({}, value);
  const text = textOf([answered, duration, newGauge("up", "1.", () => 1)]);
  assertEquals(JSON.parse(JSON.stringify(parse(text))), [
    {
      name: "events_total",
      help: "Events.",
      type: "COUNTER",
      metrics: [
        { value: "2", labels: { event: "join", outcome: "ok" } },
        { value: "1", labels: { event: "join", outcome: "refused" } },
      ],
    },
    {
      name: "duration_seconds",
      help: "Time.",
      type: "HISTOGRAM",
      metrics: [{
        buckets: { "0.5": "1", "1": "2", "+Inf": "3" },
        count: "3",
        sum: "5.25",
      }],
    },
    { name: "up", help: "1.", type: "GAUGE", metrics: [{ value: "1" }] },
  ]);
});

Deno.test("textOf() gives each series of a histogram its labels", () => {
  const duration = newHistogram("d", "Time.", [1]);
  duration.add({ event: "join" }, 1);
  duration.add({ event: "leave" }, 2);
  assertEquals(
    textOf([duration]),
    `# HELP d Time.
# TYPE d histogram
d_bucket{le="1",event="join"} 1
d_bucket{le="+Inf",event="join"} 1
d_sum{event="join"} 1
d_count{event="join"} 1
d_bucket{le="1",event="leave"} 0
d_bucket{le="+Inf",event="leave"} 1
d_sum{event="leave"} 2
d_count{event="leave"} 1
`,
  );
});

Deno.test("textOf() escapes what a label or a help text may not contain, and writes values that are no finite numbers as Prometheus does", () => {
  const counter = newCounter("odd_total", 'A\\B\n"C"');
  counter.count({ reason: '"\\\n' });
  const gauges = [NaN, Infinity, -Infinity].map((value) =>
    newGauge("g", "G.", () => value)
  );
  const head = "# HELP g G.\n# TYPE g gauge\n";
  assertEquals(
    textOf([counter, ...gauges]),
    '# HELP odd_total A\\\\B\\n"C"\n# TYPE odd_total counter\nodd_total{reason="\\"\\\\\\n"} 1\n' +
      `${head}g NaN\n${head}g +Inf\n${head}g -Inf\n`,
  );
});
