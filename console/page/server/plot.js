// @ts-check
/// <reference lib="dom" />
/** @import { Tone } from "../kit/text.js" */
import { fill, h, svg } from "../kit/element.js";
import { minutesOf, ticksTo } from "./counts.js";
import { clock } from "../kit/text.js";

const HEIGHT = 168;
/** The room of the axes. */
const MARGIN = { left: 58, right: 10, top: 10, bottom: 22 };
/** How lines look. @type {readonly Tone[]} */
const TONES = ["busy", "warn", "bad", "good", "muted", "muted"];
/** What a label of the time has left of its middle beyond the margin. */
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
 * @typedef {object} Plot
 * @property {HTMLElement} element
 * @property {(lines: readonly Line[], last: number) => void} draw with the second of the last values
 * @property {(second: number | undefined) => void} mark moves the crosshair to a second since 1970
 */

/**
 * Makes a plot of lines over the last minutes, with axes and a crosshair, which follows the pointer and
 * the arrow keys.
 *
 * @param {object} about
 * @param {string} about.title
 * @param {(value: number) => string} about.text writes a value
 * @param {number} about.least what the axis of values shows at least
 * @param {(second: number | undefined) => void} about.onMark moves the crosshairs of all plots
 * @param {readonly Tone[]} [about.tones] of its lines
 * @returns {Plot}
 */
export function createPlot({ title, text, least, onMark, tones = TONES }) {
  const grid = svg("g", { class: "grid" });
  const curves = svg("g");
  const cross = svg("g", { class: "cross" });
  const drawing = svg("svg", { role: "img" }, grid, curves, cross);
  const legend = h("ul.legend");
  const slider = h("input", {
    type: "range",
    min: "0",
    "aria-label": `${title}: time`,
    onInput: () => onMark(first() + slider.valueAsNumber),
    onBlur: () => onMark(undefined),
    onPointermove: (/** @type {PointerEvent} */ { offsetX }) =>
      onMark(first() + Math.round(offsetX / slider.clientWidth * most())),
    onPointerleave: () => onMark(undefined),
  });
  const element = h(
    "figure.plot",
    h("figcaption", title),
    h("div.area", drawing, slider),
    legend,
  );
  /** @type {readonly Line[]} */
  let lines = [];
  let last = 0;
  /** @type {number | undefined} */
  let marked;
  /** @param {number} i */
  const toneOf = (i) => tones[i % tones.length] ?? "muted";
  const most = () => Math.max(1, (lines[0]?.values.length ?? 0) - 1);
  const first = () => last - most();

  const render = () => {
    const width = Math.max(240, drawing.clientWidth);
    drawing.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const ticks = ticksTo(
      Math.max(
        least,
        ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)),
      ),
    );
    const top = ticks.at(-1) ?? 1;
    const right = width - MARGIN.right;
    const bottom = HEIGHT - MARGIN.bottom;
    /** @param {number} i */
    const x = (i) => MARGIN.left + i * (right - MARGIN.left) / most();
    /** @param {number} value */
    const y = (value) => bottom - value * (bottom - MARGIN.top) / top;
    fill(
      grid,
      ticks.map((value) => [
        rule(MARGIN.left, y(value), right, y(value)),
        label(
          MARGIN.left - 8,
          y(value) + 4,
          "end",
          value === 0 ? "0" : text(value),
        ),
      ]).flat(),
      minutesOf(first(), last).map((at) => [
        rule(x(at - first()), bottom, x(at - first()), bottom + 4),
        label(
          Math.min(x(at - first()), right - HALF_LABEL),
          HEIGHT - 4,
          "middle",
          minutes.format(at * 1000),
        ),
      ]).flat(),
    );
    fill(
      curves,
      lines.map(({ values }, i) =>
        svg("path", { class: toneOf(i), d: pathOf(values, x, y) })
      ),
    );
    const place = marked === undefined ? undefined : marked - first();
    const isMarked = place !== undefined && place >= 0 && place <= most();
    fill(
      cross,
      isMarked && rule(x(place), MARGIN.top, x(place), bottom),
      isMarked && lines.map(({ values }, i) => {
        const value = values[place];
        return value !== undefined && svg("circle", {
          class: toneOf(i),
          cx: x(place),
          cy: y(value),
          r: 3.5,
        });
      }),
    );
    const now = lines.map(({ name, values }) =>
      said(name, values.findLast((value) => value !== undefined))
    );
    const then = isMarked
      ? lines.map(({ name, values }) => said(name, values[place]))
      : now;
    const time = isMarked ? clock.format((first() + place) * 1000) : "";
    fill(
      legend,
      then.map((each, i) => h("li", { class: toneOf(i) }, each)),
      isMarked && h("li.time.muted", time),
    );
    drawing.setAttribute("aria-label", `${title}; ${now.join(", ")}`);
    slider.max = String(most());
    if (!isMarked) slider.value = slider.max;
    slider.setAttribute("aria-valuetext", `${time} ${then.join(", ")}`.trim());
  };
  /** @param {string} name @param {number | undefined} value */
  const said = (name, value) =>
    `${name}: ${value === undefined ? "–" : text(value)}`;
  return {
    element,
    draw: (newLines, newLast) => {
      lines = newLines;
      last = newLast;
      render();
    },
    mark: (second) => {
      marked = second;
      render();
    },
  };
}

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
function pathOf(values, x, y) {
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
