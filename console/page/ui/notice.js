// @ts-check
/// <reference lib="dom" />
import { h } from "./element.js";

const SHOWN_MS = 8000;
const MAX_SHOWN = 4;

/**
 * Tells what has happened, to screen readers too.
 *
 * @param {string} text
 * @param {"ok" | "error"} [kind]
 */
export function notify(text, kind = "ok") {
  const region = document.getElementById("notices");
  if (!region) return;
  const notice = h(
    "p",
    { class: `notice ${kind}` },
    text,
    h("button", {
      type: "button",
      class: "plain",
      "aria-label": "Dismiss",
      onClick: () => notice.remove(),
    }, "×"),
  );
  region.append(notice);
  while (region.children.length > MAX_SHOWN) region.firstElementChild?.remove();
  if (kind === "ok") setTimeout(() => notice.remove(), SHOWN_MS);
}
