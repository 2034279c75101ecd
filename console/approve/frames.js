// @ts-check
/// <reference lib="dom" />
/*
 * The arguments of a call: each in a frame of its own, as text, with what is odd in it named. A long one
 * shows its head, its count and its tail until it was opened.
 */
/** @import { Question } from "../../shared/approvals/question.ts" */
/** @import { DiffLine } from "../../shared/approvals/line_diff.ts" */
import { h } from "../page/kit/element.js";
import { framedText } from "../../shared/shown_text.ts";
import {
  diffLines,
  leftOutText,
  nearChanges,
} from "../../shared/approvals/line_diff.ts";

/** Longer texts are folded. */
const MAX_CHARACTERS = 1200;
const MAX_LINES = 24;
/** Of a folded text. */
const HEAD = { characters: 800, lines: 14 };
const TAIL = { characters: 300, lines: 6 };
/** With more notations than that, they are not set off, since each would be an element. */
const MAX_ODD = 1000;

/** Writes numbers. */
const count = new Intl.NumberFormat("en");

/**
 * Adds a text of others to an element; its notations are set off.
 *
 * @template {HTMLElement} E
 * @param {E} element
 * @param {string} text
 * @returns {E}
 */
export function addFramed(element, text) {
  const parts = framedText(text).split(/(⟨[^⟩]*⟩)/);
  if (parts.length > 2 * MAX_ODD) {
    element.append(parts.join(""));
    return element;
  }
  for (const [i, part] of parts.entries()) {
    if (i % 2 === 0) element.append(part);
    else {
      const odd = h("span.odd");
      odd.append(part);
      element.append(odd);
    }
  }
  return element;
}

/**
 * A folded text, which must be opened before a yes.
 * @typedef {object} Fold
 * @property {() => void} open
 */

/**
 * Makes the frames of the arguments.
 *
 * @param {Question} question
 * @returns {{ elements: HTMLElement[], folds: Set<Fold>, buttons: HTMLButtonElement[] }}
 */
export function argumentFrames({ arguments: values, diff, omitted }) {
  /** @type {Set<Fold>} */
  const folds = new Set();
  /** @type {HTMLButtonElement[]} */
  const buttons = [];
  const entries = Object.entries(values);
  const elements = entries.flatMap(([name, value], i) => {
    const id = `argument-${i}`;
    const title = addFramed(h("h2", { id }), name);
    const pre = h("pre", {
      "aria-labelledby": id,
      role: "group",
      tabIndex: -1,
    });
    const isChange = diff?.of === name && typeof value === "string";
    const text = typeof value === "string"
      ? value
      : JSON.stringify(value, null, 2);
    title.append(
      h("small", isChange ? changeText(diff.before) : kindText(value)),
    );
    const content = isChange
      ? changeContent(diff.before ?? "", value)
      : textContent(text);
    const short = content.short?.();
    if (short === undefined) {
      pre.append(...content.whole());
      return [title, pre];
    }
    pre.append(...short);
    const fold = {
      open: () => {
        pre.replaceChildren(...content.whole());
        if (document.activeElement === button) pre.focus();
        button.remove();
        folds.delete(fold);
      },
    };
    folds.add(fold);
    const button = h(
      "button.fold",
      { type: "button", "aria-describedby": id, onClick: () => fold.open() },
      `Show all ${content.size}`,
    );
    buttons.push(button);
    return [title, pre, button];
  });
  if (omitted !== undefined) {
    const size = count.format(Math.ceil(omitted / 1024));
    elements.push(h(
      "p.warning",
      `Its arguments are too large to show (${size} KiB). The call can be refused, but not allowed here.`,
    ));
  } else if (entries.length === 0) {
    elements.push(h("p.dim", "No arguments"));
  }
  return { elements, folds, buttons };
}

/**
 * What a frame shows: all of it, or for a long text its head and tail.
 * @typedef {object} Content
 * @property {() => Node[]} whole
 * @property {() => Node[]} [short]
 * @property {string} size
 */

/**
 * @param {string} text
 * @returns {Content}
 */
function textContent(text) {
  const lines = text.split("\n");
  const size = `${count.format(text.length)} characters`;
  const whole = () => [addFramed(h("span"), text)];
  if (text.length <= MAX_CHARACTERS && lines.length <= MAX_LINES) {
    return { whole, size };
  }
  // Half of a surrogate pair would be named.
  const head = lines.slice(0, HEAD.lines).join("\n")
    .slice(0, HEAD.characters).replace(/[\ud800-\udbff]$/, "");
  const tail = lines.slice(-TAIL.lines).join("\n")
    .slice(-TAIL.characters).replace(/^[\udc00-\udfff]/, "");
  const left = count.format(text.length - head.length - tail.length);
  const short = () => [
    addFramed(h("span"), head),
    h("span.cut", `… ${left} more characters …`),
    addFramed(h("span"), tail),
  ];
  return { whole, short, size };
}

/**
 * @param {string} before
 * @param {string} after
 * @returns {Content}
 */
function changeContent(before, after) {
  const lines = nearChanges(diffLines(before, after));
  const size = `${count.format(lines.length)} lines`;
  const whole = () => lines.map(lineNode);
  let characters = 0;
  for (const line of lines) {
    if (typeof line !== "number") characters += line[1].length;
  }
  if (lines.length <= 3 * MAX_LINES && characters <= 3 * MAX_CHARACTERS) {
    return { whole, size };
  }
  const head = lines.slice(0, HEAD.lines).map(shortLine);
  const tail = lines.slice(HEAD.lines).slice(-TAIL.lines).map(shortLine);
  const left = count.format(lines.length - head.length - tail.length);
  const short = () => [
    ...head.map(lineNode),
    h("span.cut", `… ${left} more lines …`),
    ...tail.map(lineNode),
  ];
  return { whole, short, size };
}

/** @param {DiffLine | number} line */
const shortLine = (line) =>
  typeof line === "number" || line[1].length <= TAIL.characters
    ? line
    : /** @type {const} */ ([line[0], `${line[1].slice(0, TAIL.characters)}…`]);

/** @param {DiffLine | number} line */
function lineNode(line) {
  if (typeof line === "number") {
    return h("span.cut", leftOutText(line));
  }
  const [kind, text] = line;
  const name = kind === "+" ? "ins" : kind === "-" ? "del" : "span.same";
  return addFramed(h(name, `${kind} `), text);
}

/** @param {string} [before] */
const changeText = (before) =>
  before === undefined
    ? "a new file"
    : `change of ${count.format(before.split("\n").length)} lines`;

/** @param {unknown} value */
const kindText = (value) =>
  typeof value === "string"
    ? `text, ${count.format(value.length)} character${
      value.length === 1 ? "" : "s"
    }`
    : Array.isArray(value)
    ? `list of ${count.format(value.length)}`
    : value === null
    ? "null"
    : typeof value;
