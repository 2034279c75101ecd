// @ts-check
/// <reference lib="dom" />
/*
 * The texts of a question, and the buttons that wait until a person has seen them: long texts were opened,
 * and all of it was scrolled to its end.
 */
/** @import { Child } from "../kit/element.js" */
/** @import { Fact, Question } from "./live.js" */
import { addText, button, fill, h } from "../kit/element.js";

/** Deeper names are not indented further. */
const MAX_INDENT = 8;

/**
 * Makes the texts of a question, and the bar of its buttons below.
 *
 * @param {Question} question
 * @param {object} about
 * @param {() => Promise<readonly Fact[]>} about.load loads the texts whole
 * @param {(error: unknown) => void} about.failed
 * @param {readonly Child[]} about.fields inputs below the texts
 * @param {readonly { element: HTMLButtonElement, needsAll: boolean }[]} about.buttons
 * @returns {[body: HTMLElement, bar: HTMLElement]}
 */
export function createReading(question, { load, failed, fields, buttons }) {
  const { title, facts, excess } = question;
  const list = h("dl.asked", facts.map(factView));
  const body = h(
    "div.reading",
    { tabIndex: 0, role: "group", "aria-label": title },
    list,
    fields,
  );
  const waiting = buttons.filter(({ needsAll }) => needsAll);
  const hint = h("span.muted", { role: "status" });
  let isCut = facts.some(({ tail }) => tail !== undefined);
  let isRead = false;
  const update = () => {
    const { scrollTop, clientHeight, scrollHeight } = body;
    const isAtEnd = scrollTop + clientHeight >= scrollHeight - 2;
    isRead ||= !isCut && clientHeight > 0 && isAtEnd;
    for (const { element } of waiting) element.disabled = !isRead;
    fill(hint, isRead || waiting.length === 0 ? "" : isCut ? OPEN : SCROLL);
  };
  body.addEventListener("scroll", update);
  new ResizeObserver(update).observe(body);
  const open = button("Show all of it", async () => {
    try {
      const whole = await load();
      fill(list, whole.map(factView));
      isCut = false;
      open.remove();
      body.focus();
      update();
    } catch (error) {
      failed(error);
    }
  });
  update();
  const bar = h(
    "p.actions",
    isCut && excess === undefined && open,
    buttons.map(({ element }) => element),
    hint,
  );
  return [body, bar];
}

const OPEN = "Show all of it first.";
const SCROLL = "Scroll to its end first.";

/** @param {Fact} fact */
function factView({ name, depth, text, tail, length = 0 }) {
  const term = h("bdi");
  addText(term, name);
  const row = h(
    "div",
    h("dt", { class: depth === 0 ? "" : "name" }, term),
    h(
      "dd",
      text !== "" && textView(text),
      tail !== undefined && [
        h("p.muted", `… ${length.toLocaleString()} characters in all …`),
        textView(tail),
      ],
    ),
  );
  row.style.marginInlineStart = `${Math.min(depth, MAX_INDENT)}em`;
  return row;
}

/** @param {string} text of any length */
function textView(text) {
  const pre = h("pre");
  addText(pre, text);
  return pre;
}
