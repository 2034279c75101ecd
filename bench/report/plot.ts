/** The plot of the page as SVG, for a light and for a dark background. */
import { type CallsRow, OURS } from "../calls.ts";
import { answerTitle, shapeTitle } from "../cases.ts";

const WIDTH = 960;
const LEFT = 64;
const RIGHT = WIDTH - 16;
const TOP = 40;
const BOTTOM = 340;
const HEIGHT = BOTTOM + 66;

/** Colors of the shapes, readable on white and on black. */
const COLORS = ["#b2df8a", "#6cc5a1", "#009e73", "#00664a"];

const STYLE = "text{font:12px system-ui,sans-serif;fill:#333}" +
  ".title{font-size:15px;font-weight:600}" +
  ".axis{stroke:#777}.grid{stroke:#8884}.goal{stroke:#d33;stroke-dasharray:5 4}" +
  ".goal-text{fill:#d33}" +
  "@media(prefers-color-scheme:dark){text{fill:#ddd}.axis{stroke:#999}.goal{stroke:#f66}.goal-text{fill:#f66}}";

const text = (x: number, y: number, words: string | number, more = "") =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}"${more}>${words}</text>`;

const MIDDLE = ' text-anchor="middle"';
const END = ' text-anchor="end"';

/** Draws a horizontal line. */
const line = (from: number, to: number, y: number, kind: string) =>
  `<line x1="${from}" x2="${to}" y1="${y}" y2="${y}" class="${kind}"/>`;

/** Draws a rectangle of a shape's color. */
function rect([x, y]: readonly number[], [w, h]: number[], shape: number) {
  const at = [x, y, w, h].map((n = 0) => Number(n.toFixed(1)));
  const [left, top, width, height] = at;
  return `<rect x="${left}" y="${top}" width="${width}" height="${height}" fill="${
    COLORS[shape]
  }"/>`;
}

/** Draws the main table: a group of bars for each answer, a bar for each shape. */
export function cpuPlot(all: readonly CallsRow[]): string {
  const title =
    "Server CPU per call, times the floor's, by pairs × calls of each";
  const rows = all.filter(({ contestant }) => contestant === OURS);
  const answers = [...new Set(rows.map(({ key }) => answerTitle(key)))];
  const shapes = [...new Set(rows.map(({ key }) => shapeTitle(key)))];
  const values = rows.map(({ cpuRatio }) => cpuRatio?.mid ?? 0);
  const most = Math.ceil(Math.max(1, ...values) * 2) / 2;
  const yOf = (value: number) => BOTTOM - (BOTTOM - TOP) * value / most;
  const width = (RIGHT - LEFT) / answers.length;
  const bar = width * 0.84 / shapes.length;
  const startOf = (answer: number) => LEFT + (answer + 0.08) * width;
  const legendAt = (shape: number) =>
    LEFT + shape * (RIGHT - LEFT) / COLORS.length;
  const ticks = Array.from({ length: 2 * most + 1 }, (_, i) => i / 2);
  const turned = `translate(16 ${(TOP + BOTTOM) / 2}) rotate(-90)`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">`,
    `<title>${title}</title><style>${STYLE}</style>`,
    text(LEFT, 22, title, ' class="title"'),
    text(RIGHT, 22, "- - - floor", ` class="goal-text"${END}`),
    text(0, 0, "× floor", ` transform="${turned}"${MIDDLE}`),
    ...ticks.map((tick) => line(LEFT, RIGHT, yOf(tick), "grid")),
    ...ticks.map((tick) => text(LEFT - 6, yOf(tick) + 4, tick, END)),
    line(LEFT, RIGHT, BOTTOM, "axis"),
    ...shapes.map((_, i) => rect([legendAt(i), BOTTOM + 46], [12, 12], i)),
    ...shapes.map((shape, i) => text(legendAt(i) + 18, BOTTOM + 56, shape)),
    ...answers.map((answer, i) =>
      text(startOf(i) + width * 0.42, BOTTOM + 18, answer, MIDDLE)
    ),
    ...rows.flatMap(({ key, cpuRatio }) => {
      if (cpuRatio === undefined) return [];
      const shape = shapes.indexOf(shapeTitle(key));
      const x = startOf(answers.indexOf(answerTitle(key))) + shape * bar;
      const y = yOf(cpuRatio.mid);
      const value = Number(cpuRatio.mid.toPrecision(2));
      return [
        rect([x + 1, y], [bar - 2, BOTTOM - y], shape),
        text(x + bar / 2, y - 4, value, `${MIDDLE} style="font-size:10px"`),
      ];
    }),
    line(LEFT, RIGHT, yOf(1), "goal"),
    "</svg>\n",
  ].join("\n");
}
