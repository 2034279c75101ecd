// @ts-check
/// <reference lib="dom" />
/*
 * A question, and the bar with its answers. Taps count only when nothing has moved for a moment, and a yes
 * only when all of the question was on the screen.
 */
/** @import { OptionId, Question } from "../../shared/approvals/question.ts" */
/** @import { Connection, Open } from "./connection.js" */
/** @import { Fold } from "./frames.js" */
import { fill, h } from "../page/kit/element.js";
import { LIMITS } from "../../shared/approvals/question.ts";
import { addFramed, argumentFrames } from "./frames.js";

/** Taps this soon after something moved were meant for something else. */
const IGNORE_TAPS_MS = 700;

const HELD = "aria-disabled";

/** Buttons that ignore taps for a moment. */
class Guard {
  /** @type {HTMLButtonElement[]} */
  #buttons = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  isBusy = false;

  /**
   * Makes a button that ignores taps while it is held.
   *
   * @param {string} name its class
   * @param {string} text
   * @param {() => void} onTap
   */
  button(name, text, onTap) {
    const button = h("button", { type: "button", class: name }, text);
    button.addEventListener("click", () => {
      if (button.getAttribute(HELD) !== "true") onTap();
    });
    this.#buttons.push(button);
    return button;
  }

  /** Ignores taps for a moment, since something has moved. */
  hold() {
    this.#set(true);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.isBusy || this.#set(false),
      IGNORE_TAPS_MS,
    );
  }

  /** @param {boolean} isHeld */
  #set(isHeld) {
    for (const button of this.#buttons) {
      if (isHeld) button.setAttribute(HELD, "true");
      else button.removeAttribute(HELD);
    }
  }
}

/** A question that is shown. */
export class QuestionView {
  /** @type {readonly HTMLElement[]} */
  elements;
  /** @type {readonly HTMLElement[]} */
  bar;
  #guard = new Guard();
  /** @type {Set<Fold>} */
  #folds;
  #isSeen = false;
  /** About the answer that was sent. */
  #note = "";
  #left = h("span.left", { role: "timer", "aria-live": "off" });
  #more = h("span");
  #late = h("p.warning", { hidden: true });
  #status = h("p.status", { role: "status" });
  #reason = h("input.reason", {
    placeholder: "Why not? The model reads it.",
    "aria-label": "Reason for no, which the model reads",
    maxLength: LIMITS.reason,
    autocomplete: "off",
  });
  #scroller;
  #end = h("div.end");
  /** The permissions, which are not for a call that has timed out. */
  #permissions;
  /** @type {HTMLButtonElement | undefined} */
  #yes;
  #observer;
  #timer;

  /**
   * @param {Connection} connection
   * @param {Open} asked
   * @param {HTMLElement} scroller what scrolls the question
   * @param {(option: OptionId, reason: string) => void} decide
   */
  constructor(connection, asked, scroller, decide) {
    this.asked = asked;
    this.#scroller = scroller;
    /** @type {Question} */
    const question = JSON.parse(asked.question);
    this.question = question;
    const { elements, folds, buttons } = argumentFrames(question);
    this.#folds = folds;
    for (const button of buttons) {
      button.addEventListener("click", () => this.#opened());
    }
    const answer = (/** @type {OptionId} */ option) =>
      decide(option, option === "no" ? this.#reason.value.trim() : "");
    const can = (/** @type {OptionId} */ id) =>
      question.options.some((option) => option.id === id);
    const isWhole = question.omitted === undefined;
    if (isWhole && can("once")) {
      this.#yes = this.#guard.button(
        "yes",
        "",
        () => this.#tapYes(answer),
      );
    }
    const others = this.#others(question, answer);
    this.#permissions = others.filter(({ needsAll }) => needsAll);
    this.elements = [
      h("p.dim", `${connection.name} asks · `, this.#left, this.#more),
      this.#late,
      ...heading(question),
      ...elements,
      ...others.map(({ option }) => option),
      this.#end,
    ];
    const no = this.#guard.button("no", "No", () => answer("no"));
    this.bar = [this.#status, this.#reason, no];
    if (this.#yes) this.bar = [...this.bar, this.#yes];
    this.#observer = new IntersectionObserver(([entry]) => {
      if (!entry?.isIntersecting || this.#folds.size > 0) return;
      if (!this.#isSeen) {
        this.#isSeen = true;
        this.#update();
        this.#guard.hold();
      }
    }, { root: scroller });
    this.#observer.observe(this.#end);
    this.#timer = setInterval(() => this.#showLeft(), 1000);
    this.#update();
    this.#showLeft();
    this.#guard.hold();
  }

  /**
   * Makes the buttons of permissions, and of further refusals.
   *
   * @param {Question} question
   * @param {(option: OptionId) => void} answer
   */
  #others(question, answer) {
    return question.options
      .filter(({ id }) => id !== "once" && id !== "no")
      .filter(({ id }) => question.omitted === undefined || id === "mute")
      .map(({ id, text, covers }) => {
        const needsAll = id !== "mute";
        const button = this.#guard.button("other", text, () => {
          if (!needsAll || this.#isSeen) answer(id);
          else this.#showMore();
        });
        const option = h("div.option", button, covers && h("p.dim", covers));
        return { needsAll, option };
      });
  }

  /**
   * Takes what has changed about the question.
   *
   * @param {Open} asked
   * @param {number} more how many others wait
   */
  update(asked, more) {
    const wasLate = this.asked.late;
    this.asked = asked;
    this.#more.textContent = more > 0 ? ` · ${more} more wait` : "";
    if (asked.late && !wasLate) {
      this.#update();
      this.#guard.hold();
    }
    this.#showLeft();
  }

  /** Ignores taps for a moment. */
  hold() {
    this.#guard.hold();
  }

  /**
   * Shows that an answer is on its way; or, with false, that it can be given again.
   *
   * @param {boolean} isBusy
   * @param {string} text
   */
  busy(isBusy, text) {
    this.#guard.isBusy = isBusy;
    this.#guard.hold();
    this.#note = text;
    this.say("");
  }

  /** @param {string} text about the connection; without one, what is due about the answer */
  say(text) {
    const shown = text || this.#note;
    if (this.#status.textContent !== shown) fill(this.#status, shown);
  }

  /** Ends what it observes. */
  close() {
    this.#observer.disconnect();
    clearInterval(this.#timer);
  }

  /** @param {(option: OptionId) => void} answer */
  #tapYes(answer) {
    if (this.#isSeen) return answer("once");
    this.#showMore();
  }

  /** Opens what is folded, or scrolls on. */
  #showMore() {
    if (this.#folds.size > 0) {
      for (const fold of [...this.#folds]) fold.open();
      this.#opened();
    } else {
      const { clientHeight } = this.#scroller;
      this.#scroller.scrollBy({ top: clientHeight * 0.85 });
    }
  }

  #opened() {
    this.#guard.hold();
    // What is at the end now may be on the screen already: the observer reports changes alone.
    this.#observer.unobserve(this.#end);
    this.#observer.observe(this.#end);
    this.#update();
  }

  #update() {
    const { late = false } = this.asked;
    this.#late.hidden = !late;
    if (late) fill(this.#late, LATE);
    for (const { option } of this.#permissions) option.hidden = late;
    if (this.#yes === undefined) return;
    fill(
      this.#yes,
      this.#folds.size > 0
        ? "Show the rest first"
        : !this.#isSeen
        ? "Scroll to the end first"
        : late
        ? "Yes, if it is tried again within 10 minutes"
        : "Yes, this once",
    );
  }

  #showLeft() {
    const { until, late } = this.asked;
    const seconds = Math.max(0, Math.round((until - Date.now()) / 1000));
    const time = `${Math.floor(seconds / 60)}:${
      String(seconds % 60).padStart(2, "0")
    }`;
    this.#left.textContent = `${late ? "over" : "no"} in ${time}`;
  }
}

const LATE =
  "The call has timed out. A yes is for the same call, if it is tried again within 10 minutes.";

/**
 * @param {Question} question
 * @returns {HTMLElement[]}
 */
function heading({ tool, alias, caller, server, bundle, rule }) {
  const isOperator = caller.kind === "operator";
  const name = (/** @type {string} */ text) => addFramed(h("bdi"), text);
  /** @type {(term: string, ...parts: (Node | string)[]) => HTMLElement[]} */
  const row = (term, ...parts) => [h("dt", term), h("dd", parts)];
  return [
    h("h1", { tabIndex: -1 }, "Run ", name(tool), "?"),
    h("dl", [
      ...row(
        isOperator ? "Operator" : "Agent",
        name(caller.name),
        h("span.dim", " (as the Server names it)"),
      ),
      ...row(
        "MCP server",
        name(server),
        ...(bundle === undefined ? [] : [" (", name(bundle), ")"]),
      ),
      ...alias === undefined ? [] : row("Called as", name(alias)),
      ...row("Why asked", name(rule.text)),
    ]),
  ];
}
