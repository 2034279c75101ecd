import type { Scale } from "./scale.ts";
import { element, line, short, type Svg, text } from "./svg.ts";

/** An entry of the legend. */
export interface Labelled {
  readonly name: string;
  /** A CSS color, readable on white and on black. */
  readonly colour: string;
}

/** The layout of a plot, in pixels. */
export interface Area {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** The width of every plot, in pixels. */
export const WIDTH = 960;

/** Pixels of one line of the legend. */
const LEGEND_LINE = 18;
/** Entries of the legend per line. */
const LEGEND_COLUMNS = 4;

/** Returns the layout of a plot with a number of series. */
export function areaOf(series: number): Area & { readonly height: number } {
  const legend = Math.ceil(series / LEGEND_COLUMNS) * LEGEND_LINE;
  const bottom = 340;
  return {
    left: 64,
    right: WIDTH - 16,
    top: 40,
    bottom,
    height: bottom + 48 + legend,
  };
}

/** The words of a plot. */
interface Words {
  readonly title: string;
  readonly yLabel: string;
  readonly series: readonly Labelled[];
}

/** Draws the common parts of plots: title, vertical axis with its grid, and legend. */
export function frame(
  area: Area,
  y: Scale,
  { title, yLabel, series }: Words,
): Svg[] {
  const { left, right, top, bottom } = area;
  return [
    text(left, 22, title, { class: "title" }),
    ...y.ticks.flatMap((tick) => [
      line([left, y.at(tick)], [right, y.at(tick)], "grid"),
      text(left - 6, y.at(tick) + 4, short(tick), { "text-anchor": "end" }),
    ]),
    line([left, bottom], [right, bottom], "axis"),
    text(0, 0, yLabel, {
      transform: `translate(16 ${(top + bottom) / 2}) rotate(-90)`,
      "text-anchor": "middle",
    }),
    ...series.flatMap(({ name, colour }, i) => {
      const column = (right - left) / LEGEND_COLUMNS;
      const x = left + column * (i % LEGEND_COLUMNS);
      const row = Math.floor(i / LEGEND_COLUMNS);
      const top = bottom + 46 + row * LEGEND_LINE;
      return [
        element("rect", {
          x,
          y: top,
          width: 12,
          height: 12,
          fill: colour,
        }),
        text(x + 18, top + 10, name),
      ];
    }),
  ];
}

/** Draws a dashed line across the plot, with a label. */
export function goalLine(
  { left, right }: Area,
  y: number,
  words: string,
): Svg[] {
  return [
    line([left, y], [right, y], "goal"),
    text(right, y - 5, words, { class: "goal-text", "text-anchor": "end" }),
  ];
}
