// @ts-check
/// <reference lib="dom" />
/** @import { Live } from "../data/live.js" */
import { h } from "./element.js";

/** How often a list is drawn at most: nobody reads faster, and clicks need a moment. */
const DRAW_MS = 250;

/**
 * Draws whenever the stream has said something, but not too often, and not while it is stopped.
 *
 * @param {Live} live
 * @param {AbortSignal} signal
 * @param {() => void} draw
 * @returns {HTMLElement} stops it, and lets it go on; it says so where the stream is lost
 */
export function drawing(live, signal, draw) {
  let isPaused = false;
  let isDue = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const state = h("span", { class: "muted", role: "status" });
  const now = () => {
    timer = undefined;
    const text = live.state === "open"
      ? isPaused ? "stopped" : "live"
      : `${live.state} …${live.problem ? ` ${live.problem}` : ""}`;
    if (state.textContent !== text) state.textContent = text;
    if (!isDue || isPaused) return;
    isDue = false;
    draw();
  };
  live.subscribe(() => {
    isDue = true;
    timer ??= setTimeout(now, DRAW_MS);
  }, signal);
  signal.addEventListener("abort", () => clearTimeout(timer));
  const button = h("button", {
    type: "button",
    "aria-pressed": "false",
    onClick: () => {
      isPaused = !isPaused;
      button.setAttribute("aria-pressed", String(isPaused));
      now();
    },
  }, "Stop");
  isDue = true;
  now();
  return h("span", { class: "actions" }, button, state);
}
