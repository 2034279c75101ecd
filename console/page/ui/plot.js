// @ts-check
/// <reference lib="dom" />
import { fill, h, svg } from "./element.js";

const WIDTH = 600;
const HEIGHT = 120;
const COLOURS = 6;

/**
 * A line: one value for each place of the axis, oldest first; `undefined` where there is none.
 * @typedef {{ name: string, values: readonly (number | undefined)[] }} Line
 */

/**
 * Makes a plot of lines over the last minutes.
 *
 * @param {string} title
 * @param {(value: number) => string} text writes a value
 * @returns {{ element: HTMLElement, draw: (lines: readonly Line[]) => void }}
 */
export function createPlot(title, text) {
  const drawing = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: "none",
    role: "img",
  });
  const top = h("span", { class: "muted" });
  const legend = h("ul", { class: "legend" });
  const element = h(
    "figure",
    { class: "plot" },
    h("figcaption", {}, h("strong", {}, title), " ", top),
    drawing,
    legend,
  );
  return {
    element,
    draw(lines) {
      const most = Math.max(
        0,
        ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)),
      );
      top.textContent = `up to ${text(most)}`;
      fill(
        drawing,
        lines.map(({ values }, i) =>
          svg("path", {
            class: `line-${i % COLOURS}`,
            d: pathOf(values, most),
          })
        ),
      );
      const said = lines.map(({ name, values }) => {
        const last = values.findLast((value) => value !== undefined);
        return `${name}: ${last === undefined ? "–" : text(last)}`;
      });
      drawing.setAttribute("aria-label", `${title}; ${said.join(", ")}`);
      fill(
        legend,
        said.map((each, i) => h("li", { class: `line-${i % COLOURS}` }, each)),
      );
    },
  };
}

/**
 * @param {readonly (number | undefined)[]} values
 * @param {number} most
 */
function pathOf(values, most) {
  const step = WIDTH / Math.max(1, values.length - 1);
  const scale = most === 0 ? 0 : (HEIGHT - 4) / most;
  let isDown = false;
  return values.map((value, i) => {
    if (value === undefined) {
      isDown = false;
      return "";
    }
    const place = `${(i * step).toFixed(1)} ${
      (HEIGHT - 2 - value * scale).toFixed(1)
    }`;
    // A value between two gaps is a point.
    const command = isDown ? `L${place}` : `M${place}h0.1`;
    isDown = true;
    return command;
  }).join("");
}
