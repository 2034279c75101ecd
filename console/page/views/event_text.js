// @ts-check
import {
  durationText,
  hasFailed,
  outcomeText,
  runningText,
} from "../ui/text.js";

/**
 * The fields of an event.
 * @typedef {Readonly<Record<string, any>>} Fields
 *
 * How something is.
 * @typedef {"good" | "warn" | "bad" | "busy" | "muted"} Tone
 */

/**
 * Writes what an event says as a sentence.
 *
 * @param {string} event
 * @param {Fields} data
 * @returns {string}
 */
export function sentenceOf(event, data) {
  const { name, role, agent, computer, by, address, principal, reason } = data;
  const what = data["tool"] ??
    String(data["request"] ?? "").replace(/^client:/, "");
  const who = name ?? principal ?? address ?? "a client";
  const because = reason ? `: ${reason}` : "";
  switch (event) {
    case "open":
      return `The stream is open${
        data["missed"] ? ", events were missed" : ""
      }`;
    case "call_began":
      return `${agent} calls ${what} of ${computer}`;
    case "call_waiting":
      return `${what} of ${computer}: ${runningText(data)}`;
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
    case "log":
      return String(data["message"]);
    default:
      return reason ? `${who} was refused${because}` : event;
  }
}

/**
 * Returns how an event looks.
 *
 * @param {string} event
 * @param {Fields} data
 * @returns {Tone}
 */
export function toneOf(event, { outcome, level }) {
  if (event === "call_ended") {
    return outcome === "ok" ? "good" : hasFailed(outcome) ? "bad" : "muted";
  }
  if (event === "joined") return "good";
  if (/^call_(began|waiting)$/.test(event)) return "busy";
  if (/error|fatal/.test(level ?? "")) return "bad";
  const isWarning = level === "warning" ||
    /refused|failed|limit|kicked|revoked|cancelled|expired/.test(event);
  return isWarning ? "warn" : "muted";
}
