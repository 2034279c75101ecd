import { areaOf, frame, goalLine, type Labelled, WIDTH } from "./frame.ts";
import { linearScale, logScale, ratioScale } from "./scale.ts";
import { element, line, picture, short, type Svg, text } from "./svg.ts";

/** Values over a range, such as the cost of a call over the number of pairs. */
export interface LinePlot {
  readonly title: string;
  /** What the axes show, with its unit. */
  readonly xLabel: string;
  readonly yLabel: string;
  /** In the order of the legend; points without a positive `x` can not be shown. */
  readonly series: readonly (Labelled & {
    readonly points: readonly (readonly [x: number, y: number])[];
  })[];
  /** Equal distances for equal ratios, on the vertical axis; the horizontal one is always so. */
  readonly logarithmic?: boolean;
  /** A value that should not be passed. */
  readonly goal?: { readonly value: number; readonly words: string };
}

/** Draws lines with a mark at each value. */
export function linePlot(plot: LinePlot): Svg {
  const area = areaOf(plot.series.length);
  const points = plot.series.flatMap(({ points }) => points);
  const xs = [...new Set(points.map(([x]) => x))].sort((a, b) => a - b);
  const ys = [
    ...points.map(([, y]) => y),
    ...plot.goal ? [plot.goal.value] : [],
  ];
  const most = Math.max(...ys);
  const x = ratioScale(
    Math.min(...xs),
    Math.max(...xs),
    area.left + 20,
    area.right - 20,
  );
  const y = plot.logarithmic
    ? logScale(Math.min(...ys), most, area.bottom, area.top)
    : linearScale(most, area.bottom, area.top);
  return picture(WIDTH, area.height, plot.title, [
    ...frame(
      area,
      plot.title,
      plot.yLabel,
      y,
      plot.series,
    ),
    ...xs.flatMap((value) => [
      line(x(value), area.bottom, x(value), area.bottom + 4, "axis"),
      text(x(value), area.bottom + 18, short(value), {
        "text-anchor": "middle",
      }),
    ]),
    text((area.left + area.right) / 2, area.bottom + 36, plot.xLabel, {
      "text-anchor": "middle",
    }),
    ...plot.goal ? goalLine(area, y.at(plot.goal.value), plot.goal.words) : [],
    ...plot.series.flatMap(({ points, colour }) => {
      const sorted = points.toSorted(([a], [b]) => a - b);
      const drawn = sorted.map(([px, py]) => [x(px), y.at(py)] as const);
      return [
        element("polyline", {
          points: drawn.map((p) => p.map((n) => n.toFixed(1)).join()).join(" "),
          fill: "none",
          stroke: colour,
          "stroke-width": 2,
        }),
        ...drawn.map(([cx, cy]) =>
          element("circle", { cx, cy, r: 3.5, fill: colour })
        ),
      ];
    }),
  ]);
}
