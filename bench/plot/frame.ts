import type { Scale } from "./scale.ts";
import { element, line, short, type Svg, text } from "./svg.ts";

/** What the legend tells apart. */
export interface Labelled {
  readonly name: string;
  /** As CSS has it; readable on white and on black. */
  readonly colour: string;
}

/** Where a plot has its parts, in pixels. */
export interface Area {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** The size of every plot. */
export const WIDTH = 960;

/** Pixels of one line of the legend. */
const LEGEND_LINE = 18;
/** So many entries stand beside each other. */
const LEGEND_COLUMNS = 4;

/** Where the parts of a plot are that has so many series. */
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

/** Title, vertical axis with its grid, and legend: what every plot has. */
export function frame(
  area: Area,
  title: string,
  yLabel: string,
  y: Scale,
  series: readonly Labelled[],
): Svg[] {
  const { left, right, top, bottom } = area;
  return [
    text(left, 22, title, { class: "title" }),
    ...y.ticks.flatMap((tick) => [
      line(left, y.at(tick), right, y.at(tick), "grid"),
      text(left - 6, y.at(tick) + 4, short(tick), { "text-anchor": "end" }),
    ]),
    line(left, bottom, right, bottom, "axis"),
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

/** A dashed line across the plot, with what it means. */
export function goalLine(
  { left, right }: Area,
  y: number,
  words: string,
): Svg[] {
  return [
    line(left, y, right, y, "goal"),
    text(right, y - 5, words, { class: "goal-text", "text-anchor": "end" }),
  ];
}
