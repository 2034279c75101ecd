// @ts-check
/// <reference lib="dom" />
/*
 * The connection to one Computer: it asks for what is open while the page is visible, one request at a
 * time, and delivers answers.
 */
/** @import { AskedQuestion, News, Pairing, Send } from "../../shared/approvals/device.ts" */
/** @import { Bytes } from "../../shared/approvals/bytes.ts" */
/** @import { EndedQuestion, OptionId, PushSubscription } from "../../shared/approvals/question.ts" */
import { toBase64url } from "../../shared/approvals/bytes.ts";
import {
  NotPassedError,
  poll,
  RefusedError,
  retryMs,
  sendAnswer,
} from "../../shared/approvals/device.ts";
import { LIMITS } from "../../shared/approvals/question.ts";

/** How long a request for changes waits at the Computer. */
const WAIT_MS = 20_000;
/** How long a request may take beyond that. */
const LOST_MS = 12_000;
const TRIES = 3;
/** Who has answered waits no longer, but may answer again. */
const MOST_RETRY_MS = 5_000;

/** Where the Server is, if the document names it: that of a folder does. */
export const SERVER = document.querySelector("meta[name=server]")
  ?.getAttribute("content") ?? undefined;

/**
 * Makes what sends a request to a Computer.
 *
 * @param {{ office: string, route: string }} to
 * @param {AbortSignal} [signal]
 * @returns {Send}
 */
export const sender = ({ office, route }, signal) => async (token, message) => {
  const path = [office, route].map(encodeURIComponent).join("/");
  const base = SERVER === undefined ? location.href : `${SERVER}/`;
  const ended = new AbortController();
  const end = () => ended.abort();
  if (signal?.aborted) end();
  signal?.addEventListener("abort", end);
  setTimeout(end, WAIT_MS + LOST_MS); // what has ended before is not changed by it
  return await exchange(new URL(`approve/v1/${path}`, base), token, {
    body: message,
    signal: ended.signal,
  });
};

/**
 * @param {URL} url
 * @param {Bytes} token
 * @param {RequestInit} init
 */
async function exchange(url, token, init) {
  const response = await fetch(url, {
    ...init,
    method: "POST",
    headers: {
      "Authorization": `Bearer ${toBase64url(token)}`,
      "Content-Type": "application/octet-stream",
    },
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
    referrerPolicy: "no-referrer",
  });
  const { ok, status, headers } = response;
  if (!ok) throw new NotPassedError(status, headers.get("Retry-After"));
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes.length <= LIMITS.answerBytes) return bytes;
  throw new Error("The answer is too large");
}

/** Waits until the page is visible. */
export const visible =
  () => /** @type {Promise<void>} */ (new Promise((resolve) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    look();
  }));

/**
 * Waits for a time, or until the device is online or the page is looked at again.
 *
 * @param {number} ms
 * @param {AbortSignal} signal
 */
export const pause = (
  ms,
  signal,
) => /** @type {Promise<void>} */ (new Promise((resolve) => {
  const done = () => {
    clearTimeout(timer);
    removeEventListener("online", done);
    document.removeEventListener("visibilitychange", done);
    signal.removeEventListener("abort", done);
    resolve();
  };
  const timer = setTimeout(done, ms);
  addEventListener("online", done);
  document.addEventListener("visibilitychange", done);
  signal.addEventListener("abort", done);
}));

/** The state of a connection. @typedef {"connecting" | "connected" | "lost" | "refused"} State */

/** An open question; `until` is by the clock of the device. @typedef {AskedQuestion & { until: number }} Open */

/** A connection to one Computer. */
export class Connection {
  /** @type {State} */
  state = "connecting";
  /** @type {readonly Open[]} */
  questions = [];
  /** @type {readonly EndedQuestion[]} */
  ended = [];
  /** The Computer's name, as it is now. */
  name;
  /** How the Computer wakes the device; it gets it once. @type {PushSubscription | undefined} */
  #push;
  #tick = "";
  #closing = new AbortController();
  /** Of the request for changes that waits. */
  #waiting = new AbortController();
  #changed;

  /**
   * @param {Pairing} pairing
   * @param {() => void} changed
   */
  constructor(pairing, changed) {
    this.pairing = pairing;
    this.name = pairing.name;
    this.#changed = changed;
  }

  /** Asks until it is closed. */
  async run() {
    const { signal } = this.#closing;
    document.addEventListener(
      "visibilitychange",
      () => document.hidden && this.#waiting.abort(),
      { signal },
    );
    addEventListener("offline", () => this.#waiting.abort(), { signal });
    let failures = 0;
    let waitMs = 0;
    while (!signal.aborted) {
      await visible();
      try {
        await this.#poll(waitMs);
        waitMs = WAIT_MS;
        failures = 0;
      } catch (error) {
        waitMs = 0;
        if (signal.aborted) return;
        if (this.#waiting.signal.aborted) continue; // hidden, or for an answer
        // The Server does not pass on what a removed device sends.
        this.state = error instanceof RefusedError || this.state === "refused"
          ? "refused"
          : "lost";
        this.#changed();
        await pause(retryMs(failures++, error), signal);
      }
    }
  }

  /**
   * Gives the Computer how it wakes the device.
   *
   * @param {PushSubscription} push
   */
  wakeBy(push) {
    this.#push = push;
    this.#waiting.abort();
  }

  /** Ends all requests. */
  close() {
    this.#closing.abort();
    this.#waiting.abort();
  }

  /**
   * Delivers an answer, if need be again with fresh news.
   *
   * @param {{ hash: string, option: OptionId, reason?: string }} answer
   * @returns {Promise<string | undefined>} its reply; undefined if it was not delivered
   */
  async answer(answer) {
    const { signal } = this.#closing;
    for (let i = 0; i < TRIES && !signal.aborted; i++) {
      try {
        if (i > 0) {
          const { tick } = await poll(this.pairing, sender(this.pairing));
          this.#tick = tick;
        }
        const said = await sendAnswer(
          this.pairing,
          sender(this.pairing, signal),
          { ...answer, tick: this.#tick },
        );
        if (said !== "stale") return said;
      } catch (error) {
        if (i === 0) this.#waiting.abort(); // the way may be broken for it, too
        const ms = retryMs(i, error);
        if (ms > MOST_RETRY_MS) break;
        await pause(ms, signal);
      }
    }
    return undefined;
  }

  /** @param {number} wait */
  async #poll(wait) {
    this.#waiting = new AbortController();
    const push = this.#push;
    const news = await poll(
      this.pairing,
      sender(this.pairing, this.#waiting.signal),
      {
        have: this.questions.map(({ hash }) => hash),
        wait: push === undefined ? wait : 0,
        ...push !== undefined && { push },
      },
    );
    if (this.#push === push) this.#push = undefined;
    this.#take(news);
  }

  /** @param {News} news */
  #take({ tick, name, questions, ended }) {
    const now = Date.now();
    this.#tick = tick;
    this.name = name;
    this.questions = questions.map((each) => ({
      ...each,
      until: now + each.left,
    }));
    this.ended = ended;
    this.state = "connected";
    this.#changed();
  }
}
