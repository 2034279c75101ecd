// @ts-check
/** @import { Tone } from "../kit/text.js" */
import {
  durationText,
  hasFailed,
  outcomeText,
  runningText,
} from "../kit/text.js";

/**
 * An event of the stream; its key numbers the events of this page.
 * @typedef {{ key: number, at: number, event: string, data: Readonly<Record<string, any>> }} LogEvent
 */

/**
 * Describes an event in a sentence.
 *
 * @param {string} event
 * @param {LogEvent["data"]} data
 * @returns {string}
 */
export function eventSentence(event, data) {
  const { name, role, agent, computer, by, address, principal, reason } = data;
  const what = data["tool"] ??
    String(data["request"] ?? "").replace(/^client:/, "");
  const who = name ?? principal ?? address ?? "a client";
  const because = reason ? `: ${reason}` : "";
  const program = data["program"] || "a program";
  switch (event) {
    case "open":
      return `The stream is open${
        data["missed"] ? ", events were missed" : ""
      }`;
    case "call_began":
      return `${agent} calls ${what} of ${computer}`;
    case "call_waiting":
      return `${what} of ${computer}: ${
        runningText({ waiting: data["waiting"] })
      }`;
    case "call_ended":
      return `${what} of ${computer}: ${outcomeText(data)} after ${
        durationText(Number(data["ms"]))
      }`;
    case "call_cancelled":
      return `${by} cancelled a call of ${agent} to ${computer}${because}`;
    case "operator_asked":
      return `${by} asked ${computer} for ${what}: ${data["outcome"]}`;
    case "joined":
      return `${name} joined as ${role === "agent" ? "Agent" : "Computer"}`;
    case "left":
      return `${name} left${because}`;
    case "member_kicked":
      return `${by} kicked ${name}${because}`;
    case "key_revoked":
      return `${by} revoked ${principal}${because}`;
    case "session_expired":
      return `The credentials of ${who} expired`;
    case "session_revoked":
      return `The session of ${who} ended${because}`;
    case "limit_hit":
      return `${who} exceeded the limit "${data["limit"]}"`;
    case "sign_in_allowed":
      return `${principal} let ${program} in`;
    case "sign_in_denied":
      return `${program} was not let in`;
    case "sign_in_refused":
      return `The sign-in of ${data["program"] || who} was refused${because}`;
    case "token_reused":
      return `A ${
        data["token"]
      } of ${program} was used twice: it may be stolen`;
    case "grant_ended":
      return by
        ? `${by} ended the sign-in of ${program}${because}`
        : `The sign-in of ${program} ended: ${data["why"]}`;
    case "log":
      return String(data["message"]);
    default:
      return reason ? `${who} was refused${because}` : event;
  }
}

/**
 * Returns the tone of an event.
 *
 * @param {string} event
 * @param {LogEvent["data"]} data
 * @returns {Tone}
 */
export function eventTone(event, { outcome, level }) {
  if (event === "call_ended") {
    return outcome === "ok" ? "good" : hasFailed(outcome) ? "bad" : "muted";
  }
  if (/^(joined|sign_in_allowed)$/.test(event)) return "good";
  if (/^call_(began|waiting)$/.test(event)) return "busy";
  if (/error|fatal/.test(level ?? "")) return "bad";
  const isWarning = level === "warning" ||
    /refused|failed|limit|kicked|revoked|cancelled|expired|reused/.test(event);
  return isWarning ? "warn" : "muted";
}
