// @ts-check
/// <reference lib="dom" />
/*
 * The page of a person's device: it pairs, and shows one question after the other.
 */
/** @import { Pairing } from "../../shared/approvals/device.ts" */
/** @import { OptionId } from "../../shared/approvals/question.ts" */
import { button, fill, h } from "../page/kit/element.js";
import { readLink } from "../../shared/approvals/pairing.ts";
import { Connection } from "./connection.js";
import { linkField, pair } from "./pairing.js";
import { QuestionView } from "./question.js";
import { forget, keyOf, pairings } from "./store.js";
import { allowWaking, canWake, register, waking } from "./waking.js";

/** The states of connections, for people. */
const STATES = {
  connecting: "connecting",
  connected: "connected",
  lost: "not connected, trying again",
  refused: "refuses this device",
};
const NOT_CONNECTED = "Not connected, trying again.";

/** The page: what it shows depends on its connections, and on what the person does. */
class ApprovePage {
  #main = h("main", { tabIndex: 0 });
  #bar = h("footer", { hidden: true });
  /** What happened last, also for screen readers. */
  #news = h("p.news", { role: "status" });
  /** @type {Map<string, Connection>} */
  #connections = new Map();
  /** The shown question. @type {{ view: QuestionView, connection: Connection } | undefined} */
  #current;
  /** Whether an answer is on its way. */
  #isAnswering = false;
  /** What holds the screen beside questions: pairing, or one that has ended. */
  #isHeld = false;
  /** The answered questions, which the next news may still have. @type {Set<string>} */
  #answered = new Set();
  /** How the idle page was shown last. */
  #shownIdle = "";
  #canNotify = false;

  /** Shows the page. */
  async start() {
    const link = takeLink();
    document.body.append(this.#main, this.#bar);
    register();
    addEventListener("hashchange", () => {
      const link = takeLink();
      if (link !== undefined) this.#pair(link);
    });
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.#current?.view.hold();
    });
    for (const pairing of await pairings()) this.#connect(pairing);
    if (link !== undefined) this.#pair(link);
    else this.#update();
    this.#canNotify = canWake;
    await this.#wake();
    this.#update();
  }

  /** @param {Pairing} pairing */
  #connect(pairing) {
    const key = keyOf(pairing);
    this.#connections.get(key)?.close();
    const connection = new Connection(pairing, () => this.#update());
    this.#connections.set(key, connection);
    connection.run();
  }

  /** @param {import("../../shared/approvals/pairing.ts").PairingLink | Error} link */
  async #pair(link) {
    this.#leave();
    this.#isHeld = true;
    this.#shownIdle = "";
    if (link instanceof Error) this.#news.textContent = `${link.message}.`;
    else {
      const pairing = await pair(this.#main, link);
      if (pairing !== undefined) {
        this.#news.textContent = `Paired with ${pairing.name}.`;
        this.#connect(pairing);
        this.#wake();
      }
    }
    this.#isHeld = false;
    this.#update();
  }

  /** Lets Computers wake the device, if the person has allowed it. */
  async #wake() {
    const push = await waking().catch(() => undefined);
    if (push !== undefined) this.#wakeBy(push);
  }

  /** @param {import("../../shared/approvals/question.ts").PushSubscription} push */
  #wakeBy(push) {
    this.#canNotify = false;
    for (const connection of this.#connections.values()) {
      connection.wakeBy(push);
    }
  }

  /** Shows what is due: the shown question stays until it ends. */
  #update() {
    if (this.#isHeld || this.#isAnswering) return;
    const open = this.#open();
    document.title = open.length === 0
      ? "Approvals"
      : `(${open.length}) Approvals`;
    if (this.#current !== undefined) {
      const { view, connection } = this.#current;
      const { hash } = view.asked;
      const now = connection.questions.find((each) => each.hash === hash);
      if (now !== undefined) {
        view.update(now, open.length - 1);
        view.say(connection.state === "connected" ? "" : NOT_CONNECTED);
        return;
      }
      return this.#ended(endText(connection, hash));
    }
    const [oldest] = open;
    if (oldest !== undefined) this.#show(oldest);
    else this.#idle();
  }

  /** All open questions, the oldest of each Computer first. */
  #open() {
    return [...this.#connections.values()].flatMap((connection) =>
      connection.questions
        .filter(({ hash }) => !this.#answered.has(hash))
        .map((asked) => ({ connection, asked }))
    );
  }

  /** @param {{ connection: Connection, asked: import("./connection.js").Open }} question */
  #show({ connection, asked }) {
    const view = new QuestionView(
      connection,
      asked,
      this.#main,
      (option, reason) => this.#answer(option, reason),
    );
    this.#current = { view, connection };
    if (this.#shownIdle) fill(this.#news); // it was read
    this.#shownIdle = "";
    fill(this.#main, this.#news, view.elements);
    fill(this.#bar, view.bar);
    this.#bar.hidden = false;
    this.#main.scrollTop = 0;
    view.update(asked, this.#open().length - 1);
    this.#main.querySelector("h1")?.focus({ preventScroll: true });
    navigator.vibrate?.(50);
  }

  /**
   * @param {OptionId} option
   * @param {string} reason
   */
  async #answer(option, reason) {
    if (this.#current === undefined || this.#isAnswering) return;
    const { view, connection } = this.#current;
    const { hash } = view.asked;
    this.#isAnswering = true;
    view.busy(true, "Sending");
    const said = await connection.answer({
      hash,
      option,
      ...reason !== "" && { reason },
    });
    this.#isAnswering = false;
    if (said === "unknown" || said?.startsWith("ended")) {
      return this.#ended(saidText(said));
    }
    if (said !== "taken") {
      view.busy(false, saidText(said));
      return this.#update(); // it may have ended meanwhile
    }
    this.#answered.add(hash);
    const { tool } = view.question;
    const isNo = option === "no" || option === "mute";
    const what = isNo ? "does not run" : "may run";
    this.#leave();
    fill(this.#news, `${isNo ? "No" : "Yes"}: ${tool} ${what}.`);
    this.#update();
  }

  /**
   * Shows that the question has ended elsewhere, until the person has seen it.
   *
   * @param {string} text
   */
  #ended(text) {
    const { view } = this.#current ?? {};
    if (view === undefined) return;
    this.#answered.add(view.asked.hash);
    this.#leave();
    this.#isHeld = true;
    const { tool } = view.question;
    fill(
      this.#main,
      h("h1", { tabIndex: -1 }, "Run ", h("bdi", tool), "?"),
      h("p.ended", { role: "status" }, text),
      button("Continue", () => {
        this.#isHeld = false;
        this.#update();
      }, { class: "main" }),
    );
    this.#main.querySelector("h1")?.focus();
  }

  /** Removes the question from the screen. */
  #leave() {
    this.#current?.view.close();
    this.#current = undefined;
    this.#bar.hidden = true;
    fill(this.#bar);
    this.#news.textContent = "";
  }

  /** Shows that nothing waits. */
  #idle() {
    const all = [...this.#connections.values()];
    const shown = JSON.stringify([
      all.map(({ name, state, pairing }) => [name, state, keyOf(pairing)]),
      this.#news.textContent,
      this.#canNotify,
    ]);
    if (shown === this.#shownIdle) return;
    this.#shownIdle = shown;
    const use = (
      /** @type {import("../../shared/approvals/pairing.ts").PairingLink} */ link,
    ) => this.#pair(link);
    if (all.length === 0) {
      fill(
        this.#main,
        this.#news,
        h("h1", "Not paired yet"),
        h(
          "p",
          "Run “smcp-computer pair” at your Computer, and scan what it shows, or paste its link here.",
        ),
        linkField(use),
      );
      return;
    }
    const isLost = all.every(({ state }) => state !== "connected");
    const isNew = all.some(({ state }) => state === "connecting");
    fill(
      this.#main,
      this.#news,
      h(
        "h1",
        isNew ? "Connecting" : isLost ? "Not connected" : "Nothing to decide",
      ),
      h("ul.computers", all.map((each) => this.#computer(each))),
      this.#canNotify && this.#notifyButton(),
      h("details", h("summary", "Pair with another Computer"), linkField(use)),
    );
  }

  /** @param {Connection} connection */
  #computer(connection) {
    const { name, state, pairing } = connection;
    const remove = async () => {
      const text =
        `Forget ${name}? Also remove this device there: smcp-computer devices remove.`;
      if (!confirm(text)) return;
      connection.close();
      this.#connections.delete(keyOf(pairing));
      await forget(pairing);
      this.#news.textContent = `Forgot ${name}.`;
      this.#update();
    };
    return h(
      "li",
      h(
        "div",
        h("strong", h("bdi", name)),
        h(`span.${state}`, STATES[state]),
        state === "refused" &&
          h("span.dim", "If you have removed it there, forget it here."),
      ),
      button("Forget", remove, { "aria-label": `Forget ${name}` }),
    );
  }

  #notifyButton() {
    return button("Notify me", async () => {
      try {
        this.#wakeBy(await allowWaking());
        this.#news.textContent = "A call that waits will notify you.";
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        fill(this.#news, `Cannot notify you: ${reason}.`);
      }
      this.#update();
    }, { class: "main" });
  }
}

/**
 * Takes a link out of the address, which keeps none of it.
 *
 * @returns {import("../../shared/approvals/pairing.ts").PairingLink | Error | undefined}
 */
function takeLink() {
  const { hash, pathname, search } = location;
  if (hash.length < 2) return undefined;
  history.replaceState(null, "", `${pathname}${search}`);
  try {
    return readLink(hash);
  } catch {
    return new Error("The link is not one of smcp-computer pair");
  }
}

/**
 * @param {Connection} connection
 * @param {string} hash of a question that is open no more
 */
function endText({ ended }, hash) {
  const end = ended.find((each) => each.hash === hash);
  if (end === undefined) {
    return "It is not asked any more: the Computer was started again.";
  }
  const { by, answer } = end;
  if (answer === undefined && by === "timeout") {
    return "Its time was over: the call does not run.";
  }
  const isNo = answer === "no" || answer === "mute";
  const what = answer === undefined ? "" : isNo ? " (no)" : " (yes)";
  return `It has ended: ${by}${what}.`;
}

/** The reply to an answer, for people. @param {string} [said] none where it was not delivered */
const saidText = (said) =>
  said === undefined
    ? "Not delivered. Answer again."
    : said === "unknown"
    ? "Not counted: the Computer does not ask that any more."
    : said === "expired"
    ? "Not counted: its time was over."
    : `Not counted: ${said}.`;

if (self !== top) {
  // A policy in a document cannot forbid frames.
  takeLink();
  document.body.append("This page does not work in a frame.");
} else new ApprovePage().start();
