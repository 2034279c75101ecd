// @ts-check
/// <reference lib="dom" />
/** @import { Tone } from "../kit/text.js" */
import { fill, h, svg } from "../kit/element.js";
import { minutesOf, ticksTo } from "./counts.js";
import { clock } from "../kit/text.js";

const HEIGHT = 168;
/** The room of the axes. */
const MARGIN = { left: 58, right: 10, top: 10, bottom: 22 };
/** The axis of time. */
const BOTTOM = HEIGHT - MARGIN.bottom;
/** How lines look. @type {readonly Tone[]} */
const TONES = ["busy", "warn", "bad", "good", "muted", "muted"];
/** The width of half a label of the time, beyond the margin. */
const HALF_LABEL = 6;

/** Writes minutes of a day. */
const minutes = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

/**
 * A line: one value for each second, oldest first; `undefined` where there is none.
 * @typedef {{ name: string, values: readonly (number | undefined)[] }} Line
 *
 * The look of a plot.
 * @typedef {object} PlotStyle
 * @property {string} title
 * @property {(value: number) => string} text writes a value
 * @property {number} least the least range of the axis of values
 * @property {(second: number | undefined) => void} onMark moves the crosshairs of all plots
 * @property {readonly Tone[]} [tones] of its lines
 */

/**
 * A plot of lines over the last minutes, with axes and a crosshair, which follows the pointer and the
 * arrow keys.
 */
export class Plot {
  /** @type {HTMLElement} */
  element;
  #style;
  #grid = svg("g", { class: "grid" });
  #curves = svg("g");
  #cross = svg("g", { class: "cross" });
  #drawing = svg(
    "svg",
    { role: "img" },
    this.#grid,
    this.#curves,
    this.#cross,
  );
  #legend = h("ul.legend");
  #slider;
  /** @type {readonly Line[]} */
  #lines = [];
  /** The second of the last values. */
  #last = 0;
  /** The second of the crosshair. @type {number | undefined} */
  #marked;

  /** @param {PlotStyle} style */
  constructor(style) {
    this.#style = style;
    this.#slider = this.#createSlider();
    this.element = h(
      "figure.plot",
      h("figcaption", style.title),
      h("div.area", this.#drawing, this.#slider),
      this.#legend,
    );
  }

  /**
   * Draws lines.
   *
   * @param {readonly Line[]} lines
   * @param {number} last the second of the last values
   */
  draw(lines, last) {
    this.#lines = lines;
    this.#last = last;
    this.#render();
  }

  /**
   * Moves the crosshair.
   *
   * @param {number | undefined} second since 1970; `undefined` removes it
   */
  mark(second) {
    this.#marked = second;
    this.#render();
  }

  #createSlider() {
    const { title, onMark } = this.#style;
    const slider = h("input", {
      type: "range",
      min: "0",
      "aria-label": `${title}: time`,
      onInput: () => onMark(this.#first + slider.valueAsNumber),
      onBlur: () => onMark(undefined),
      onPointermove: (/** @type {PointerEvent} */ { offsetX }) => {
        const part = offsetX / slider.clientWidth;
        onMark(this.#first + Math.round(part * this.#most));
      },
      onPointerleave: () => onMark(undefined),
    });
    return slider;
  }

  /** The position of the last values. */
  get #most() {
    return Math.max(1, (this.#lines[0]?.values.length ?? 0) - 1);
  }

  /** The second of the first values. */
  get #first() {
    return this.#last - this.#most;
  }

  /** The position of the crosshair, if it is in the plot. */
  get #place() {
    const place = (this.#marked ?? NaN) - this.#first;
    return place >= 0 && place <= this.#most ? place : undefined;
  }

  #render() {
    const scale = this.#createScale();
    this.#drawing.setAttribute("viewBox", `0 0 ${scale.width} ${HEIGHT}`);
    this.#drawGrid(scale);
    fill(
      this.#curves,
      this.#lines.map(({ values }, i) =>
        svg("path", {
          class: this.#toneOf(i),
          d: linePath(values, scale.x, scale.y),
        })
      ),
    );
    this.#drawCross(scale);
    this.#drawLegend();
  }

  #createScale() {
    const width = Math.max(240, this.#drawing.clientWidth);
    const values = this.#lines.flatMap(({ values }) =>
      values.map((value) => value ?? 0)
    );
    const ticks = ticksTo(Math.max(this.#style.least, ...values));
    const top = ticks.at(-1) ?? 1;
    const right = width - MARGIN.right;
    const step = (right - MARGIN.left) / this.#most;
    return {
      width,
      right,
      ticks,
      /** @param {number} i */
      x: (i) => MARGIN.left + i * step,
      /** @param {number} value */
      y: (value) => BOTTOM - value * (BOTTOM - MARGIN.top) / top,
    };
  }

  /** @param {Scale} scale */
  #drawGrid({ right, ticks, x, y }) {
    const { text } = this.#style;
    fill(
      this.#grid,
      ticks.map((value) => [
        rule(MARGIN.left, y(value), right, y(value)),
        label(
          MARGIN.left - 8,
          y(value) + 4,
          "end",
          value === 0 ? "0" : text(value),
        ),
      ]).flat(),
      minutesOf(this.#first, this.#last).map((at) => {
        const middle = x(at - this.#first);
        return [
          rule(middle, BOTTOM, middle, BOTTOM + 4),
          label(
            Math.min(middle, right - HALF_LABEL),
            HEIGHT - 4,
            "middle",
            minutes.format(at * 1000),
          ),
        ];
      }).flat(),
    );
  }

  /** @param {Scale} scale */
  #drawCross({ x, y }) {
    const place = this.#place;
    if (place === undefined) return this.#cross.replaceChildren();
    fill(
      this.#cross,
      rule(x(place), MARGIN.top, x(place), BOTTOM),
      this.#lines.map(({ values }, i) => {
        const value = values[place];
        return value !== undefined && svg("circle", {
          class: this.#toneOf(i),
          cx: x(place),
          cy: y(value),
          r: 3.5,
        });
      }),
    );
  }

  /** Writes the values at the crosshair, or the latest. */
  #drawLegend() {
    const place = this.#place;
    const now = this.#lines.map(({ name, values }) =>
      this.#valueText(name, values.findLast((value) => value !== undefined))
    );
    const then = place === undefined ? now : this.#lines.map((
      { name, values },
    ) => this.#valueText(name, values[place]));
    const time = place === undefined
      ? ""
      : clock.format((this.#first + place) * 1000);
    fill(
      this.#legend,
      then.map((each, i) => h("li", { class: this.#toneOf(i) }, each)),
      place !== undefined && h("li.time.muted", time),
    );
    const { title } = this.#style;
    this.#drawing.setAttribute("aria-label", `${title}; ${now.join(", ")}`);
    this.#slider.max = String(this.#most);
    if (place === undefined) this.#slider.value = this.#slider.max;
    this.#slider.setAttribute(
      "aria-valuetext",
      `${time} ${then.join(", ")}`.trim(),
    );
  }

  /** @param {string} name @param {number | undefined} value */
  #valueText(name, value) {
    return `${name}: ${value === undefined ? "–" : this.#style.text(value)}`;
  }

  /** @param {number} i */
  #toneOf(i) {
    const { tones = TONES } = this.#style;
    return tones[i % tones.length] ?? "muted";
  }
}

/**
 * Where times and values are in the drawing.
 * @typedef {object} Scale
 * @property {number} width
 * @property {number} right
 * @property {readonly number[]} ticks
 * @property {(i: number) => number} x
 * @property {(value: number) => number} y
 */

/** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
const rule = (x1, y1, x2, y2) => svg("line", { x1, y1, x2, y2 });

/** @param {number} x @param {number} y @param {"end" | "middle"} anchor @param {string} text */
const label = (x, y, anchor, text) =>
  svg("text", { x, y, "text-anchor": anchor }, text);

/**
 * @param {readonly (number | undefined)[]} values
 * @param {(i: number) => number} x
 * @param {(value: number) => number} y
 */
function linePath(values, x, y) {
  let isDown = false;
  return values.map((value, i) => {
    if (value === undefined) {
      isDown = false;
      return "";
    }
    const place = `${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    // A value between two gaps is a point.
    const command = isDown ? `L${place}` : `M${place}h0.1`;
    isDown = true;
    return command;
  }).join("");
}
