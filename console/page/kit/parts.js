// @ts-check
/// <reference lib="dom" />
/** @import { Child } from "./element.js" */
/** @import { Tone } from "./text.js" */
import { errorMessage } from "./api.js";
import { addText, button, fill, h } from "./element.js";

/**
 * Makes a state: a dot, and its word.
 *
 * @param {Tone} tone
 * @param {string} text
 */
export const pill = (tone, text) => h("span", { class: `pill ${tone}` }, text);

/**
 * Makes a list of terms and values.
 *
 * @param {readonly (readonly [term: string, value: Child])[]} facts
 */
export const factRows = (facts) =>
  facts.map(([term, value]) =>
    h("div", h("dt", term), h("dd", h("bdi", value)))
  );

/** How much of a text is shown at first, and more with each click, in characters: a browser lays out all of it. */
const MAX_TEXT = 10_000;

/**
 * Shows a text with its lines; of a long one the beginning, with a button that adds to it.
 *
 * @param {string} text
 * @param {string} label its name for screen readers
 * @returns {HTMLElement}
 */
export function textBlock(text, label) {
  const pre = h("pre", { tabIndex: 0, role: "region", "aria-label": label });
  let end = 0;
  const add = () => {
    const from = end;
    end = Math.min(text.length, from + MAX_TEXT);
    if (isHighSurrogate(text.charCodeAt(end - 1)) && end < text.length) end--;
    addText(pre, text.slice(from, end));
  };
  add();
  if (end === text.length) return pre;
  const count = () =>
    `Show more: ${end.toLocaleString()} of ${text.length.toLocaleString()} characters are shown`;
  const more = button(count(), () => {
    add();
    more.textContent = count();
    if (end === text.length) more.remove();
  });
  return h("div", pre, more);
}

/** @param {number} unit */
const isHighSurrogate = (unit) => unit >= 0xd800 && unit <= 0xdbff;

/**
 * Shows a name, which unfolds to the whole.
 *
 * @param {string} name
 * @param {HTMLElement} whole
 */
export const folded = (name, whole) => h("details", h("summary", name), whole);

/**
 * Makes something folded, whose content is made when it is opened.
 *
 * @param {HTMLElement} summary
 * @param {() => Child | Promise<Child>} load called again after a failure
 * @param {...Child} first above the content
 */
export function lazilyFolded(summary, load, ...first) {
  const content = h("div");
  let isLoaded = false;
  const details = h(
    "details",
    {
      onToggle: async () => {
        if (!details.open || isLoaded) return;
        isLoaded = true;
        try {
          fill(content, await load());
        } catch (error) {
          isLoaded = false;
          fill(content, problem(error));
        }
      },
    },
    summary,
    first,
    content,
  );
  return details;
}

/**
 * Shows a value as JSON.
 *
 * @param {unknown} value
 * @param {string} label its name for screen readers
 */
export const jsonText = (value, label) =>
  textBlock(JSON.stringify(value, undefined, 2), label);

/**
 * Shows a command that can be copied.
 *
 * @param {string} text
 */
export const command = (text) => textBlock(text, "Command");

/**
 * Makes the path of a view: links to the views above it.
 *
 * @param {...HTMLElement} links
 */
export const breadcrumbs = (...links) =>
  h("p.path", links.map((each) => [each, " › "]).flat());

/**
 * Makes a part of a page with a head.
 *
 * @param {string} id of the heading
 * @param {readonly Child[]} heading
 * @param {HTMLElement} action beside it
 * @param {...Child} content
 */
export const panel = (id, heading, action, ...content) =>
  h(
    "section.panel",
    { "aria-labelledby": id },
    h("div.head", h("h2", { id, tabIndex: -1 }, heading), action),
    content,
  );

/**
 * Makes a list of figures, large enough to be read from afar.
 *
 * @param {...(HTMLElement | false | undefined)} tiles
 */
export const tileList = (...tiles) => h("dl.tiles", tiles);

/**
 * Makes a figure of such a list.
 *
 * @param {string} label
 * @param {Child} value
 * @param {Child} [more] smaller, below it
 */
export const tile = (label, value, more) =>
  h("div", h("dt", label), h("dd", h("b", h("bdi", value)), more));

/**
 * Makes the text of an empty view, with the next step.
 *
 * @param {string} title
 * @param {...Child} more sentences
 */
export const empty = (title, ...more) =>
  h(
    "div.empty",
    h("span.mark"),
    h("h2", title),
    more.map((each) => each instanceof HTMLElement ? each : h("p", each)),
  );

/**
 * Loads a value now and repeatedly, and shows problems where that fails.
 *
 * @template Value
 * @param {object} about
 * @param {HTMLElement} about.problems where problems are shown
 * @param {AbortSignal} about.signal ends it
 * @param {() => Promise<Value>} about.load
 * @param {(value: Value) => void} about.show
 * @param {number} [about.everyMs] while the page is visible; never again without it
 * @returns {() => Promise<void>} loads at once
 */
export function loading({ problems, signal, load, show, everyMs }) {
  /** @type {Promise<void> | undefined} */
  let running;
  const once = async () => {
    try {
      const value = await load();
      if (signal.aborted) return;
      problems.replaceChildren(...missing(value));
      show(value);
    } catch (error) {
      if (!signal.aborted) problems.replaceChildren(problem(error));
    }
  };
  const now = () => running ??= once().finally(() => running = undefined);
  if (everyMs !== undefined) every(everyMs, signal, now);
  void now();
  return now;
}

/**
 * Repeats work while the page is visible.
 *
 * @param {number} ms
 * @param {AbortSignal} signal
 * @param {() => unknown} work
 */
export function every(ms, signal, work) {
  const timer = setInterval(() => document.hidden || work(), ms);
  signal.addEventListener("abort", () => clearInterval(timer));
}

/**
 * Names the nodes of a cluster whose entries are missing.
 *
 * @param {any} value an answer of the API
 */
const missing = (value) => {
  const { unanswered = [], not_operated: closed = [] } = value ?? {};
  /** @type {[nodes: readonly string[], problem: string][]} */
  const kinds = [
    [unanswered, `No answer came from ${unanswered.join(", ")}`],
    [closed, `Started with --no-operator: ${closed.join(", ")}`],
  ];
  return kinds.filter(([nodes]) => nodes.length > 0).map(([nodes, text]) => {
    const where = nodes.length > 1 ? "these nodes" : "this node";
    return problem(`${text}: the entries of ${where} are missing.`);
  });
};

/**
 * Shows an error.
 *
 * @param {unknown} error
 */
export const problem = (error) =>
  h("p.problem", { role: "alert" }, errorMessage(error));

/**
 * Shows the outcome of an action of a person.
 *
 * @param {Promise<unknown>} work
 * @param {string} done
 */
export const attempt = (work, done) =>
  work.then(
    () => notify(done),
    (error) => notify(errorMessage(error), "error"),
  );

const SHOWN_MS = 8000;
const MAX_SHOWN = 4;

/**
 * Shows a notice, to screen readers too.
 *
 * @param {string} text
 * @param {"ok" | "error"} [kind]
 */
export function notify(text, kind = "ok") {
  const region = document.getElementById("notices");
  if (!region) return;
  /** @type {HTMLElement} */
  const notice = h(
    "p",
    { class: `notice ${kind}` },
    text,
    button("×", () => notice.remove(), {
      class: "plain",
      "aria-label": "Dismiss",
    }),
  );
  region.append(notice);
  while (region.children.length > MAX_SHOWN) region.firstElementChild?.remove();
  if (kind === "ok") setTimeout(() => notice.remove(), SHOWN_MS);
}
