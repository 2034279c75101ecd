import { areaOf, frame, type Labelled, WIDTH } from "./frame.ts";
import { linearScale, logScale } from "./scale.ts";
import { element, line, picture, short, type Svg, text } from "./svg.ts";

/** A plot of grouped bars. */
export interface BarPlot {
  readonly title: string;
  /** The quantity of the bars, with its unit. */
  readonly yLabel: string;
  readonly groups: readonly string[];
  /** The series, in the order of the legend. */
  readonly series: readonly (Labelled & {
    /** One value per group; `undefined` leaves a gap. */
    readonly values: readonly (number | undefined)[];
  })[];
  /** Whether the axis is logarithmic. */
  readonly logarithmic?: boolean;
  /** An optional limit per group, with its label. */
  readonly goals?: {
    readonly values: readonly (number | undefined)[];
    readonly words: string;
  };
}

/** Draws groups of bars, each with its value above it. */
export function barPlot(plot: BarPlot): Svg {
  const area = areaOf(plot.series.length);
  const values = plot.series.flatMap(({ values }) => values)
    .filter((value) => value !== undefined);
  const goals = plot.goals?.values.filter((goal) => goal !== undefined) ?? [];
  const most = Math.max(...values, ...goals);
  const y = plot.logarithmic
    ? logScale(Math.min(...values), most, area.bottom, area.top)
    : linearScale(most, area.bottom, area.top);
  const group = (area.right - area.left) / plot.groups.length;
  const bar = group * 0.84 / plot.series.length;
  const start = (g: number) => area.left + g * group + group * 0.08;
  return picture(WIDTH, area.height, plot.title, [
    ...frame(area, y, plot),
    ...plot.groups.map((name, g) =>
      text(start(g) + group * 0.42, area.bottom + 18, name, {
        "text-anchor": "middle",
      })
    ),
    ...plot.series.flatMap(({ values, colour }, s) =>
      values.flatMap((value, g) => {
        if (value === undefined) return [];
        const x = start(g) + s * bar;
        return [
          element("rect", {
            x: x + 1,
            y: y.at(value),
            width: bar - 2,
            height: area.bottom - y.at(value),
            fill: colour,
          }),
          text(x + bar / 2, y.at(value) - 4, brief(value), {
            "text-anchor": "middle",
            style: "font-size:10px",
          }),
        ];
      })
    ),
    ...plot.goals?.values.flatMap((goal, g) =>
      goal === undefined ? [] : [
        line(
          [start(g), y.at(goal)],
          [start(g) + group * 0.84, y.at(goal)],
          "goal",
        ),
      ]
    ) ?? [],
    ...plot.goals
      ? [
        text(area.right, 22, plot.goals.words, {
          class: "goal-text",
          "text-anchor": "end",
        }),
      ]
      : [],
  ]);
}

/** Formats a value with two digits, which fit above a bar. */
const brief = (value: number) => short(Number(value.toPrecision(2)));
