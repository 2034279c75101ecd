// @ts-check
/// <reference lib="dom" />
/** @import { Api } from "../data/api.js" */
/** @import { View } from "../ui/shell.js" */
/** @import { Question } from "./live.js" */
import { h } from "../ui/element.js";
import { keyed } from "../ui/keyed.js";
import { notify } from "../ui/notice.js";
import { problem } from "../ui/loading.js";
import { answerForm } from "./answer_form.js";

/** Clicks this soon after something moved were meant for something else, as keys at the terminal. */
const IGNORE_CLICKS_MS = 500;
/** How many that have ended stay to be seen. */
const MAX_ENDED = 3;

/**
 * Adds the open questions above a view.
 *
 * @param {View} view
 * @returns {View}
 */
export const withQuestions = (view) => ({
  title: view.title,
  show: (root, context) => {
    const lost = h("p", { class: "problem", role: "alert", hidden: true });
    const heading = h("h2", { id: "questions", "aria-live": "polite" });
    const list = h("div");
    const panel = h(
      "section",
      { class: "questions", "aria-labelledby": "questions", hidden: true },
      heading,
      list,
    );
    const inner = h("div");
    root.append(lost, panel, inner);
    const { api, live, signal } = context;
    const plainTitle = document.title;
    let before = "";
    live.subscribe(() => {
      /** @type {readonly Question[]} */
      const all = live.questions;
      const open = all.filter(({ endedBy }) => !endedBy);
      const shown = [
        ...all.filter(({ endedBy }) => endedBy).slice(-MAX_ENDED),
        ...open,
      ]
        .toSorted((a, b) => a.askedAt - b.askedAt);
      lost.hidden = live.state !== "lost";
      lost.textContent = lost.hidden ? "" : LOST;
      panel.hidden = shown.length === 0;
      panel.classList.toggle("waiting", open.length > 0);
      heading.textContent = open.length === 0
        ? "No question waits"
        : open.length === 1
        ? "1 question waits"
        : `${open.length} questions wait`;
      document.title = open.length === 0
        ? plainTitle
        : `(${open.length}) ${plainTitle}`;
      keyed(
        list,
        shown,
        {
          keyOf: ({ id, endedBy }) => `${id} ${endedBy ?? "open"}`,
          make: (question) =>
            question.endedBy ? ended(question) : asked(question, api),
          update: () => {}, // what was typed stays
        },
      );
      const now = shown.map(({ id, endedBy = "open" }) => id + endedBy).join();
      if (now !== before) hold(list);
      before = now;
    }, signal);
    return view.show(inner, context);
  },
});

const LOST =
  "The Computer does not answer, so this may be old; trying again. If it was started anew, open the link that it printed then.";

/** @type {ReturnType<typeof setTimeout> | undefined} */
let released;

/**
 * Ignores clicks for a moment, since what was clicked may just have moved there.
 *
 * @param {Element} list
 */
function hold(list) {
  const buttons = () => list.querySelectorAll("button");
  for (const button of buttons()) button.setAttribute("aria-disabled", "true");
  clearTimeout(released);
  released = setTimeout(() => {
    for (const button of buttons()) button.removeAttribute("aria-disabled");
  }, IGNORE_CLICKS_MS);
}

const WHO = {
  page: "Answered on a page",
  terminal: "Answered at the terminal",
  nobody: "Not needed any more",
};

/** @param {Question} question */
function ended({ text, endedBy = "nobody", said }) {
  const [heading = ""] = text.split("\n");
  return h(
    "p",
    { class: "question ended muted" },
    heading,
    h(
      "strong",
      {},
      ` ${WHO[endedBy]}${endedBy === "nobody" ? "" : `: ${said}`}`,
    ),
  );
}

/**
 * @param {Question} question
 * @param {Api} api
 */
function asked({ id, text, asking }, api) {
  const [heading = "", ...rest] = text.split("\n");
  const problems = h("div");
  /** @param {unknown} answer */
  const send = async (answer) => {
    problems.replaceChildren();
    try {
      await api.post(`questions/${id}`, answer);
    } catch (error) {
      const status = Reflect.get(Object(error), "status");
      // Somebody else was first; the stream says who.
      if (status === 409) {
        notify(String(Reflect.get(Object(error), "message")), "error");
      } else problems.replaceChildren(problem(error));
    }
  };
  return h(
    "article",
    { class: "question", "aria-label": heading },
    h("h3", {}, heading),
    rest.length > 0 &&
      h(
        "pre",
        { tabIndex: 0, role: "region", "aria-label": "Details" },
        rest.join("\n"),
      ),
    answerForm(asking, id, send),
    problems,
  );
}
