// @ts-check
/// <reference lib="dom" />
/** @import { Api } from "../kit/api.js" */
import { ProblemError, readEvents } from "../kit/api.js";

/** How long the page waits before it connects again, at first and at most. */
const RETRY_MS = { first: 500, most: 10_000 };

/**
 * @typedef {object} Server
 * @property {string} bundleId
 * @property {string} label
 * @property {string} type
 * @property {"starting" | "running" | "restarting" | "failed" | "stopped" | "disabled"} state
 * @property {string} does the state as a sentence
 * @property {number} tools
 * @property {number} restarts
 * @property {readonly string[]} problems
 * @property {string} [authorizeAt] an address of http: or https:
 *
 * @typedef {{ name: string, bundleId: string, description: string }} Tool
 *
 * @typedef {object} Computer
 * @property {string} name
 * @property {string} url
 * @property {string} connection
 * @property {string} protocol
 * @property {string} [office]
 * @property {readonly Server[]} servers
 * @property {readonly Tool[]} tools
 * @property {readonly string[]} skills
 * @property {readonly string[]} problems
 *
 * @typedef {object} Call
 * @property {number} key
 * @property {string} agent
 * @property {string} tool
 * @property {string} reqId
 * @property {number} beganAt
 * @property {{ progress: number, total?: number, message?: string }} [progress]
 * @property {string} [waiting] the person that it waits for
 * @property {number} [endedAt]
 * @property {number} [ms]
 * @property {string} [outcome]
 * @property {number} [code]
 *
 * @typedef {{ answer: string, label: string }} Choice
 *
 * @typedef {object} Field
 * @property {"text" | "number" | "boolean" | "choice" | "choices"} kind
 * @property {string} name
 * @property {string} label
 * @property {string} [description]
 * @property {boolean} isRequired
 * @property {boolean} [isSecret]
 * @property {boolean} [isInteger]
 * @property {string} [format]
 * @property {number} [minimum]
 * @property {number} [maximum]
 * @property {readonly { value: string, label: string }[]} [options]
 * @property {string | number | boolean | readonly string[]} [default]
 *
 * @typedef {object} Asking
 * @property {"confirm" | "input" | "elicit"} kind
 * @property {readonly Choice[]} [choices]
 * @property {"promptString" | "pickString"} [type]
 * @property {boolean} [isSecret]
 * @property {readonly string[]} [options]
 * @property {string | number} [fallback]
 * @property {readonly Field[]} [fields]
 *
 * @typedef {object} Question
 * @property {string} id
 * @property {number} askedAt
 * @property {string} text
 * @property {Asking} asking
 * @property {"page" | "terminal" | "nobody"} [endedBy]
 * @property {string} [said]
 *
 * @typedef {object} News
 * @property {Computer} [computer]
 * @property {readonly Call[]} calls
 * @property {number} firstCall
 * @property {readonly Question[]} questions
 *
 * What the stream of a Computer says.
 * @typedef {object} Live
 * @property {"connecting" | "open" | "lost"} state
 * @property {Computer | undefined} computer
 * @property {readonly Call[]} calls oldest first
 * @property {readonly Question[]} questions oldest first; of the ended ones those since the page was opened
 * @property {(listener: () => void, signal: AbortSignal) => void} subscribe told at most once a frame, and
 * at first
 */

/**
 * Follows a Computer; connects again whenever the stream ends.
 *
 * @param {Api} api
 * @param {AbortSignal} signal
 * @returns {Live}
 */
export function createLive(api, signal) {
  /** @type {Live["state"]} */
  let state = "connecting";
  /** @type {Computer | undefined} */
  let computer;
  /** @type {Map<number, Call>} */
  const calls = new Map();
  /** @type {Map<string, Question>} */
  const questions = new Map();
  /** @type {Set<() => void>} */
  const listeners = new Set();
  let isDrawing = false;

  const changed = () => {
    if (isDrawing) return;
    isDrawing = true;
    // A page that is not seen gets no frames, but its title tells of questions.
    const later = document.hidden ? setTimeout : requestAnimationFrame;
    later(() => {
      isDrawing = false;
      for (const listener of [...listeners]) listener();
    });
  };

  /**
   * @param {News} news
   * @param {boolean} isFirst of a stream: all there is
   */
  const take = (news, isFirst) => {
    if (isFirst) {
      calls.clear();
      const open = new Set(news.questions.map(({ id }) => id));
      for (const id of questions.keys()) {
        if (!open.has(id)) questions.delete(id);
      }
    }
    computer = news.computer ?? computer;
    for (const call of news.calls) calls.set(call.key, call);
    for (const key of calls.keys()) {
      if (key >= news.firstCall) break;
      calls.delete(key);
    }
    for (const question of news.questions) {
      const isKnown = questions.has(question.id);
      if (isKnown || !question.endedBy) questions.set(question.id, question);
    }
  };

  const follow = async () => {
    const response = await api.open("events", {}, signal);
    if (!response.body) throw new TypeError("The stream is empty");
    let isFirst = true;
    for await (const events of readEvents(response.body)) {
      state = "open";
      for (const { data } of events) {
        take(JSON.parse(data), isFirst);
        isFirst = false;
      }
      changed();
    }
  };

  const run = async () => {
    let delay = RETRY_MS.first;
    while (!signal.aborted) {
      try {
        await follow();
        delay = RETRY_MS.first;
      } catch (error) {
        if (error instanceof ProblemError && error.status === 401) return;
      }
      if (signal.aborted) return;
      state = "lost";
      changed();
      await new Promise((resolve) => setTimeout(resolve, delay));
      delay = Math.min(2 * delay, RETRY_MS.most);
    }
  };
  void run();

  return {
    get state() {
      return state;
    },
    get computer() {
      return computer;
    },
    get calls() {
      return [...calls.values()];
    },
    get questions() {
      return [...questions.values()];
    },
    subscribe: (listener, until) => {
      listeners.add(listener);
      until.addEventListener("abort", () => listeners.delete(listener));
      listener();
    },
  };
}
