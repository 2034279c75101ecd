import type { Page } from "playwright-core";
import { assert } from "@std/assert";

/** The most that a page did in one task, which keeps it from its next frame for as long as it runs. */
interface PageWork {
  /** Elements that it made, shown or not. */
  readonly elements: number;
  /** Characters that it added to the document. */
  readonly characters: number;
  /** Characters of the longest text that it added, which is laid out as a whole. */
  readonly longestText: number;
}

/** What a page may do in one task: draw the 200 rows of its largest list twice, and not a list of thousands. */
const MOST: PageWork = {
  elements: 15_000,
  characters: 400_000,
  longestText: 25_000,
};

/**
 * Asserts that a page can make its next frame soon while something happens.
 *
 * No time is measured: what a task of the page does is counted, so that the result is that of the page on
 * any machine.
 */
export async function assertResponsive(
  page: Page,
  happens: () => Promise<unknown>,
): Promise<void> {
  // Through the DevTools protocol, which the page's policy of content does not concern.
  await page.evaluate(COUNT);
  await happens();
  // What a slow machine has not drawn yet is the page's work, too.
  await page.waitForFunction("globalThis.isCounted()");
  const work: PageWork = await page.evaluate("globalThis.endCounting()");
  const text = `${JSON.stringify(work)} of ${JSON.stringify(MOST)}`;
  assert(work.elements > 0 && work.characters > 0, `nothing counted: ${text}`);
  const isLess = work.elements <= MOST.elements &&
    work.characters <= MOST.characters &&
    work.longestText <= MOST.longestText;
  assert(isLess, `in one task: ${text}`);
}

/**
 * Begins to count in the page. A task ends where one of the highest priority can run, before what else is
 * due but input: on a slow machine several keys wait, and each is a task of its own.
 */
const COUNT = `(() => {
  const most = { elements: 0, characters: 0, longestText: 0 };
  let task;
  const current = () => {
    if (task === undefined) {
      task = { elements: 0, characters: 0, longestText: 0 };
      scheduler.postTask(end, { priority: "user-blocking" });
    }
    return task;
  };
  const end = () => {
    for (const key in most) most[key] = Math.max(most[key], task?.[key] ?? 0);
    task = undefined;
  };
  addEventListener("keydown", end, true);
  const { createElement, createElementNS } = document;
  document.createElement = (...args) => {
    current().elements++;
    return createElement.apply(document, args);
  };
  document.createElementNS = (...args) => {
    current().elements++;
    return createElementNS.apply(document, args);
  };
  const read = (node) => {
    if (node.nodeType === Node.TEXT_NODE) {
      const { length } = node.data;
      const counts = current();
      counts.characters += length;
      counts.longestText = Math.max(counts.longestText, length);
    } else for (const child of node.childNodes) read(child);
  };
  const observer = new MutationObserver((changes) => {
    for (const { type, target, addedNodes } of changes) {
      if (type === "characterData") read(target);
      else addedNodes.forEach(read);
    }
  });
  const options = { childList: true, characterData: true, subtree: true };
  observer.observe(document, options);
  globalThis.isCounted = () => most.elements > 0 && most.characters > 0;
  globalThis.endCounting = () => {
    observer.disconnect();
    removeEventListener("keydown", end, true);
    delete document.createElement;
    delete document.createElementNS;
    delete globalThis.endCounting;
    delete globalThis.isCounted;
    end();
    return most;
  };
})()`;
