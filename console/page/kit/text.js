// @ts-check

/**
 * A call, as both pages have it.
 * @typedef {object} AnyCall
 * @property {number} key
 * @property {number} beganAt milliseconds since 1970
 * @property {number} [endedAt]
 * @property {number} [ms]
 * @property {string} [outcome]
 * @property {string | null} [waiting] the person that it waits for
 * @property {number} [waitingSince] when they were asked, in milliseconds since 1970
 * @property {{ progress: number, total?: number, message?: string }} [progress]
 */

/** The tone of a state. @typedef {"good" | "warn" | "bad" | "busy" | "muted"} Tone */

/**
 * Writes a number of bytes.
 *
 * @param {number} bytes
 */
export function bytesText(bytes) {
  const units = ["B", "KB", "MB", "GB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${
    unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)
  } ${units[unit]}`;
}

/**
 * Writes a duration.
 *
 * @param {number} ms
 */
export function durationText(ms) {
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor(ms / 1000) % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48
    ? `${hours} h ${minutes % 60} min`
    : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/**
 * Describes the state of a call that has not ended.
 *
 * @param {{ waiting?: string | null | undefined, waitingSince?: number | undefined }} call
 * @param {number} [now] as of `Date.now()`, for how long it waits
 */
export function runningText({ waiting, waitingSince }, now) {
  if (!waiting) return "running";
  const text = waiting === "confirmation"
    ? "waits for confirmation"
    : "waits for an answer";
  return now === undefined || waitingSince === undefined
    ? text
    : `${text}, ${wholeText(now - waitingSince)}`;
}

/**
 * Writes a duration in whole seconds.
 *
 * @param {number} ms
 */
export function wholeText(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return seconds < 60 ? `${seconds} s` : durationText(1000 * seconds);
}

/**
 * Describes how a call ended, such as `timeout of the agent`.
 *
 * @param {Readonly<Record<string, any>>} ended
 */
export const outcomeText = ({ outcome, ended_by: by }) =>
  by === undefined
    ? String(outcome)
    : `${outcome} ${outcome === "timeout" ? "of" : "by"} the ${by}`;

/**
 * Returns whether a call failed: one that was cancelled, or whose Agent has left, did not fail.
 *
 * @param {string} outcome
 */
export const hasFailed = (outcome) =>
  !/^(ok$|cancelled|agent gone$)/.test(outcome);

/**
 * Writes how long ago a time was.
 *
 * @param {string} time in ISO 8601
 * @param {number} now as of `Date.now()`
 */
export const sinceText = (time, now) =>
  durationText(Math.max(0, now - Date.parse(time)));

/**
 * Writes how long ago a time was, in whole seconds.
 *
 * @param {number} at milliseconds since 1970
 * @param {number} now as of `Date.now()`
 */
export const agoText = (at, now) => {
  const ms = now - at;
  return ms < 1000 ? "now" : `${wholeText(ms)} ago`;
};

/** Writes times of a day. */
export const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
