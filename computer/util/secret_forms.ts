import { Buffer } from "node:buffer";

/** Hiding shorter values, or lines of values, would also replace ordinary words that contain them. */
export const MIN_SECRET_CHARACTERS = 4;
/** How many lines of a value are searched for on their own. */
const MAX_LINES = 200;
/** A shorter base64 text could match by coincidence. */
const MIN_BASE64_CHARACTERS = 4;

/**
 * Lists every form in which a program may print a value that it was given.
 *
 * Covered are: the value as it is and trimmed, and each line of it; as JSON (with and without
 * non-ASCII letters, also as a JSON string within JSON) and as JavaScript and Python quote it;
 * URL- and form-encoded; HTML-escaped; as base64, also as part of something longer such as
 * `user:password`. A value that is hashed, compressed, encrypted or truncated is not found.
 */
export function secretForms(value: string): string[] {
  const whole = [value, value.trim()];
  const lines = value.split(/\r?\n/).slice(0, MAX_LINES)
    .map((line) => line.trim()).filter(({ length }) =>
      length >= MIN_SECRET_CHARACTERS
    );
  const forms = new Set([...whole, ...lines].flatMap(formsOf));
  forms.delete("");
  return [...forms];
}

function formsOf(text: string): string[] {
  const formed = text.toWellFormed();
  const json = JSON.stringify(text).slice(1, -1);
  const ascii = json.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const component = encodeURIComponent(formed);
  const form = new URLSearchParams([["", formed]]).toString().slice(1);
  const url = [component, encodeURI(formed), form];
  return [
    text,
    json,
    ascii,
    JSON.stringify(json).slice(1, -1),
    json.replaceAll('\\"', '"'),
    json.replaceAll('\\"', '"').replaceAll("'", "\\'"),
    ...url,
    ...url.map((form) =>
      form.replaceAll(/%[0-9A-F]{2}/g, (sign) => sign.toLowerCase())
    ),
    ...htmlForms(text),
    ...base64Forms(formed),
  ];
}

function htmlForms(text: string): string[] {
  const html = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
  return [
    html,
    html.replaceAll('"', "&quot;").replaceAll("'", "&#39;"),
    html.replaceAll('"', "&quot;").replaceAll("'", "&#x27;"),
  ];
}

/**
 * Encodes a text at each of the three offsets that it can have within a base64 group, without the
 * characters that depend on its neighbours.
 */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text);
  const forms = [0, 1, 2].map((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const first = before === 0 ? 0 : before + 1;
    return padded.toString("base64").slice(
      first,
      Math.floor(padded.length * 8 / 6),
    );
  }).filter(({ length }) => length >= MIN_BASE64_CHARACTERS);
  return [
    bytes.toString("base64"),
    bytes.toString("base64url"),
    bytes.toString("base64").replace(/=+$/, ""),
    ...forms,
    ...forms.map((form) => form.replaceAll("+", "-").replaceAll("/", "_")),
  ];
}
