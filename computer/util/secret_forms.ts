import { Buffer } from "node:buffer";

/** Shorter values, and lines of values, stand in ordinary words; hiding them would blot out all that is said. */
export const HIDDEN_FROM = 4;
/** Lines of a value that are looked for one by one. */
const MOST_LINES = 200;
/** Signs of base64 that are no coincidence. */
const LEAST_BASE64 = 4;

/**
 * Every form in which a program may print a value that it was given.
 *
 * As it is and without white space around it, and each line of it; in JSON (with and without
 * letters beyond ASCII, in a JSON string within JSON too) and as JavaScript and Python quote it; in
 * a URL and in a form; in HTML; in base64, as a part of something longer too, such as
 * `user:password`. What is hashed, compressed, encrypted or cut in the middle is not found.
 */
export function secretForms(value: string): string[] {
  const whole = [value, value.trim()];
  const lines = value.split(/\r?\n/).slice(0, MOST_LINES)
    .map((line) => line.trim()).filter(({ length }) => length >= HIDDEN_FROM);
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

/** What a text becomes wherever it begins within a group of three bytes, without the signs that depend on what is around it. */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text);
  const forms = [0, 1, 2].map((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const first = before === 0 ? 0 : before + 1;
    return padded.toString("base64").slice(
      first,
      Math.floor(padded.length * 8 / 6),
    );
  }).filter(({ length }) => length >= LEAST_BASE64);
  return [
    bytes.toString("base64"),
    bytes.toString("base64url"),
    bytes.toString("base64").replace(/=+$/, ""),
    ...forms,
    ...forms.map((form) => form.replaceAll("+", "-").replaceAll("/", "_")),
  ];
}
