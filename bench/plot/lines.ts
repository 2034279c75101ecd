import { areaOf, frame, goalLine, type Labelled, WIDTH } from "./frame.ts";
import { linearScale, logScale, ratioScale } from "./scale.ts";
import { element, line, picture, short, type Svg, text } from "./svg.ts";

/** Values over a range, such as the cost of a call over the number of pairs. */
export interface LinePlot {
  readonly title: string;
  /** The quantities of the axes, with their units. */
  readonly xLabel: string;
  readonly yLabel: string;
  /** The series, in the order of the legend; points without a positive `x` cannot be shown. */
  readonly series: readonly (Labelled & {
    readonly points: readonly (readonly [x: number, y: number])[];
  })[];
  /** Whether the vertical axis is logarithmic; the horizontal one always is. */
  readonly logarithmic?: boolean;
  /** An optional limit. */
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
    ...frame(area, y, plot),
    ...xs.flatMap((value) => [
      line([x(value), area.bottom], [x(value), area.bottom + 4], "axis"),
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
