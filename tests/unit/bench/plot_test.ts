import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { barPlot, linePlot } from "../../../bench/plot/mod.ts";
import {
  linearScale,
  logScale,
  ratioScale,
} from "../../../bench/plot/scale.ts";
import { element, short } from "../../../bench/plot/svg.ts";

Deno.test("linearScale() starts at 0, in round steps past the largest value", () => {
  assertEquals(linearScale(4.3, 0, 100).ticks, [0, 1, 2, 3, 4, 5]);
  assertEquals(linearScale(0.5, 0, 100).ticks, [0, 0.1, 0.2, 0.3, 0.4, 0.5]);
  const { at } = linearScale(10, 200, 100);
  assertEquals([0, 5, 10].map(at), [200, 150, 100]);
});

Deno.test("ratioScale() puts a value alone in the middle", () => {
  assertEquals([1, 10, 100].map(ratioScale(1, 100, 0, 200)), [0, 100, 200]);
  assertEquals(ratioScale(5, 5, 0, 200)(5), 100);
});

Deno.test("logScale() gives equal ratios equal distances", () => {
  const { at, ticks } = logScale(1, 5000, 0, 400);
  assertEquals([1, 10, 100, 10_000].map(at), [0, 100, 200, 400]);
  assertEquals(ticks, [1, 10, 100, 1000, 10_000]);
  assertEquals(logScale(20, 90, 0, 1).ticks, [10, 20, 50, 100]);
  assertEquals(logScale(10, 10, 0, 1).ticks, [10, 20, 50, 100]);
});

Deno.test("short() writes numbers for axes", () => {
  assertEquals([0, 0.25, 12, 5000, 12_345, 2e6].map(short), [
    "0",
    "0.25",
    "12",
    "5k",
    "12.3k",
    "2M",
  ]);
});

Deno.test("element() escapes what it is given", () => {
  assertEquals(
    element("a", { title: '<"&' }, []),
    '<a title="&lt;&quot;&amp;"/>',
  );
});

const points = (svg: string) =>
  [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)]
    .map(([, x, y]) => [Number(x), Number(y)]);

Deno.test("linePlot() draws every value inside its frame, with units and a legend", () => {
  const svg = linePlot({
    title: "Cost <of> growth",
    xLabel: "pairs",
    yLabel: "CPU, µs",
    series: [
      { name: "floor", colour: "#888", points: [[5000, 30], [1, 10]] },
      { name: "ours", colour: "#0a0", points: [[1, 20], [5000, 60]] },
    ],
    goal: { value: 50, words: "goal" },
  });
  assertMatch(svg, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  for (const words of ["Cost &lt;of&gt; growth", "CPU, µs", "pairs", "ours"]) {
    assertStringIncludes(svg, words);
  }
  assertStringIncludes(svg, "prefers-color-scheme:dark");
  const drawn = points(svg);
  assertEquals(drawn.length, 4);
  assert(drawn.every(([x = 0, y = 0]) => x > 60 && x < 960 && y > 30));
  // From left to right, and more is higher.
  assert((drawn[0]?.[0] ?? 0) < (drawn[1]?.[0] ?? 0));
  assert((drawn[0]?.[1] ?? 0) > (drawn[1]?.[1] ?? 0));
});

Deno.test("barPlot() leaves a gap where there is no value", () => {
  const svg = barPlot({
    title: "Throughput",
    yLabel: "calls/s",
    logarithmic: true,
    groups: ["100 B", "10 KB"],
    series: [
      { name: "floor", colour: "#888", values: [30_000, 20_000] },
      { name: "python", colour: "#a0a", values: [600, undefined] },
    ],
    goals: { values: [1000, undefined], words: "goal" },
  });
  const bars = [...svg.matchAll(/<rect [^>]*height="(?!12")/g)];
  assertEquals(bars.length, 3);
  assertEquals(svg.match(/class="goal"/g)?.length, 1);
  for (const words of ["30k", "600", "10 KB", "python"]) {
    assertStringIncludes(svg, words);
  }
});
