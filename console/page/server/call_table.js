// @ts-check
/*
 * The calls that a page of a Server has seen, from the stream of events and from lists of calls in
 * flight. A call is identified by its office, Agent and request.
 *
 * Lists complete the stream. A list may be faster than the stream, which then has the beginning of a call
 * that is known, or slower, and then has calls that have ended. The stream may lack ends, too: of calls
 * that ended before it was open, and of those that it missed.
 */
import { outcomeText } from "../kit/text.js";

/** How many calls are kept. */
const MAX_KEPT = 2000;
/** How many more may gather before the oldest are dropped together. */
const SLACK = 500;

/**
 * @typedef {object} OfficeCall
 * @property {string} office
 * @property {string} agent
 * @property {string} computer
 * @property {string} request
 * @property {string} [tool]
 * @property {string} reqId
 * @property {number} [sentBytes] of the request
 * @property {number} [bytes] of the answer
 * @property {unknown} [params]
 * @property {unknown} [result]
 * @property {number} [endKey] numbers its end among the beginnings and ends of this page
 *
 * A call; its key numbers its beginning among the beginnings and ends of this page.
 * @typedef {OfficeCall & import("../kit/text.js").AnyCall} Call
 *
 * A call as the API lists those in flight.
 * @typedef {{ office: string, agent: string, computer: string, req_id: string, request: string, tool?: string, waiting?: string, waiting_ms?: number, ms: number }} PendingCall
 *
 * A list of calls in flight; not whole where it is partial, or nodes of a cluster are not in it.
 * Its `lastKey` is that of the page when it was requested.
 * @typedef {{ calls: readonly PendingCall[], partial?: true, unanswered?: string[], not_operated?: string[], lastKey: number }} PendingCalls
 */

/** The latest calls. */
export class CallTable {
  /** The newest, oldest first. @type {Call[]} */
  all = [];
  /** Calls without an end, by what identifies them. @type {Map<string, Call>} */
  #pending = new Map();
  /** Calls whose beginning the stream lacks, or has not yet. @type {WeakSet<Call>} */
  #adopted = new WeakSet();
  /** Calls that the last list lacks. @type {WeakSet<Call>} */
  #absent = new WeakSet();
  #keys = 0;

  /**
   * Takes the beginning of a call from the stream.
   *
   * @param {number} at milliseconds since 1970
   * @param {Readonly<Record<string, any>>} data of the event
   */
  began(at, data) {
    const call = readCall(++this.#keys, at, data);
    const listed = this.#pending.get(callId(call));
    // The list of calls may be faster than the stream.
    if (listed && this.#adopted.delete(listed)) {
      Object.assign(listed, { ...call, key: listed.key });
    } else this.#add(call);
  }

  /**
   * Takes the end of a call from the stream.
   *
   * @param {number} at milliseconds since 1970
   * @param {Readonly<Record<string, any>>} data of the event
   */
  ended(at, data) {
    const endKey = ++this.#keys;
    const ms = Number(data["ms"]);
    const ended = readCall(endKey, at - ms, data);
    const known = this.#pending.get(callId(ended));
    Object.assign(known ?? ended, {
      endKey,
      endedAt: at,
      ms,
      outcome: outcomeText(data),
      bytes: data["bytes"],
      result: data["result"],
    });
    this.#pending.delete(callId(ended));
    if (!known) this.#add(ended);
  }

  /**
   * Takes from the stream that a call waits for a person, or continues.
   *
   * @param {number} at milliseconds since 1970
   * @param {Readonly<Record<string, any>>} data of the event
   */
  waits(at, data) {
    const known = this.#pending.get(callId(readCall(0, 0, data)));
    if (known) setWaiting(known, data["waiting"], at);
  }

  /** Forgets the calls in flight: their ends may be among events that were missed. */
  forgetPending() {
    this.#pending.clear();
    this.all = this.all.filter(({ endedAt }) => endedAt !== undefined);
  }

  /** The key of the latest beginning or end. */
  get lastKey() {
    return this.#keys;
  }

  /**
   * Adds listed calls whose beginning the stream lacks, and removes calls that two whole lists in a row
   * lack.
   *
   * @param {PendingCalls} list
   * @param {string} [office] the office of the list; all by default
   */
  adopt(list, office) {
    const { lastKey } = list;
    const isWhole = !list.partial && !list.unanswered && !list.not_operated;
    const ended = new Set(
      this.all.filter(({ endKey = 0 }) => endKey > lastKey).map(callId),
    );
    const listed = new Set();
    for (const each of list.calls) {
      const call = readCall(++this.#keys, Date.now() - each.ms, each);
      const id = callId(call);
      listed.add(id);
      const known = this.#pending.get(id);
      if (known) {
        setWaiting(known, each.waiting ?? null, waitingSince(each));
        this.#absent.delete(known);
      } else if (!ended.has(id)) {
        setWaiting(call, each.waiting ?? null, waitingSince(each));
        this.#adopted.add(call);
        this.#add(call);
      }
    }
    if (isWhole) {
      this.#removeAbsent((call) =>
        (office ?? call.office) === call.office && call.key <= lastKey &&
        !listed.has(callId(call))
      );
    }
  }

  /**
   * Removes calls in flight that were absent before; of others an end may be on its way.
   *
   * @param {(call: Call) => boolean} isAbsent
   */
  #removeAbsent(isAbsent) {
    const removed = new Set();
    for (const [id, call] of this.#pending) {
      if (!isAbsent(call)) continue;
      if (this.#absent.has(call)) {
        this.#pending.delete(id);
        removed.add(call);
      } else this.#absent.add(call);
    }
    if (removed.size > 0) {
      this.all = this.all.filter((call) => !removed.has(call));
    }
  }

  /** @param {Call} call */
  #add(call) {
    if (call.endedAt === undefined) this.#pending.set(callId(call), call);
    this.all.push(call);
    if (this.all.length <= MAX_KEPT + SLACK) return;
    for (const old of this.all.slice(0, -MAX_KEPT)) {
      const id = callId(old);
      if (this.#pending.get(id) === old) this.#pending.delete(id);
    }
    this.all = this.all.slice(-MAX_KEPT);
  }
}

/** @param {PendingCall} call */
const waitingSince = ({ waiting_ms: ms = 0 }) => Date.now() - ms;

/**
 * Takes what a call waits for; of reports of the same, the first has the time.
 *
 * @param {Call} call
 * @param {string | null} waiting
 * @param {number} since milliseconds since 1970
 */
function setWaiting(call, waiting, since) {
  if (waiting && waiting !== call.waiting) call.waitingSince = since;
  call.waiting = waiting;
}

/** @param {Pick<Call, "office" | "agent" | "reqId">} call */
const callId = ({ office, agent, reqId }) =>
  JSON.stringify([office, agent, reqId]);

/**
 * @param {number} key
 * @param {number} beganAt
 * @param {Readonly<Record<string, any>>} data
 * @returns {Call}
 */
const readCall = (key, beganAt, data) => {
  const { office, agent, computer, request, req_id: reqId } = data;
  const { event, tool, bytes: sentBytes, params } = data;
  return {
    key,
    office,
    agent,
    computer,
    request,
    reqId,
    beganAt,
    ...(tool !== undefined && { tool }),
    ...(event === "call_began" && { sentBytes, params }),
  };
};
