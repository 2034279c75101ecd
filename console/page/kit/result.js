// @ts-check
/// <reference lib="dom" />
/** @import { Tone } from "./text.js" */
import { button, h } from "./element.js";
import { textBlock } from "./parts.js";

/** Pictures that a browser draws without running anything of them. */
const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const SOUNDS = new Set(["audio/wav", "audio/mpeg", "audio/ogg", "audio/webm"]);

/**
 * Shows the result of a tool; all of it is foreign content.
 *
 * @param {unknown} result a CallToolResult
 * @param {AbortSignal} signal ends its pictures and sounds
 * @returns {HTMLElement}
 */
export function resultView(result, signal) {
  /** @type {Record<string, unknown>} */
  const about = Object(result);
  const { content, structuredContent, isError, _meta: meta } = about;
  return h(
    "div.result",
    isError === true && h("p.bad", "The tool reports an error."),
    Array.isArray(content) && content.map((block) => blockView(block, signal)),
    structuredContent !== undefined && structuredContent !== null &&
      [h("h4", "Structured result"), jsonView(structuredContent)],
    meta !== undefined && meta !== null &&
      [h("h4", "Metadata"), jsonView(meta, undefined, false)],
  );
}

/**
 * Shows one content block of MCP.
 *
 * @param {unknown} block
 * @param {AbortSignal} signal
 * @returns {HTMLElement}
 */
export function blockView(block, signal) {
  /** @type {Record<string, unknown>} */
  const { type, text, data, mimeType, resource, uri } = Object(block);
  if (type === "text" && typeof text === "string") return textView(text);
  if (
    (type === "image" || type === "audio") && typeof data === "string" &&
    typeof mimeType === "string"
  ) {
    return mediaView(data, mimeType, signal) ??
      h("p.muted", `${type} of type ${mimeType}, which is not shown`);
  }
  if (
    type === "resource" && typeof resource === "object" && resource !== null
  ) {
    /** @type {Record<string, unknown>} */
    const { uri, text, blob, mimeType } = { ...resource };
    const media = typeof blob === "string" && typeof mimeType === "string"
      ? mediaView(blob, mimeType, signal)
      : undefined;
    return h(
      "figure",
      h("figcaption", h("code", h("bdi", String(uri)))),
      typeof text === "string"
        ? textView(text)
        : media ?? jsonView(resource, undefined, false),
    );
  }
  // Not a link that can be followed: it may lead anywhere.
  if (type === "resource_link") {
    return h("p", "Resource: ", h("code", h("bdi", String(uri))));
  }
  return jsonView(block);
}

/**
 * Shows a text in the direction of its letters.
 *
 * @param {string} text
 * @returns {HTMLElement}
 */
export function textView(text) {
  const shown = textBlock(text, "Text");
  shown.dir = "auto";
  return shown;
}

/**
 * @param {string} base64
 * @param {string} mimeType
 * @param {AbortSignal} signal
 */
function mediaView(base64, mimeType, signal) {
  const type = mimeType.toLowerCase();
  if (!IMAGES.has(type) && !SOUNDS.has(type)) return undefined;
  /** @type {Uint8Array<ArrayBuffer>} */
  let bytes;
  try {
    bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  } catch {
    return h("p.bad", `${mimeType}: its data is not base64`);
  }
  const url = URL.createObjectURL(new Blob([bytes], { type }));
  signal.addEventListener("abort", () => URL.revokeObjectURL(url));
  return IMAGES.has(type)
    ? h("img", {
      src: url,
      alt: `Picture of the tool, ${mimeType}`,
      class: "media",
    })
    : h("audio", { src: url, controls: true });
}

/** How values of each type look. @type {Readonly<Record<string, Tone>>} */
const TONES = { string: "good", number: "busy", boolean: "busy" };
/** How many entries of a list or object are shown at once. */
const MAX_ENTRIES = 100;
/** How much of a text is shown at first, in characters. */
const MAX_LEAF = 2000;

/**
 * Shows a value of JSON as a tree, of which only unfolded parts are made.
 *
 * @param {unknown} value
 * @param {string} [name]
 * @param {boolean} [isOpen]
 * @returns {HTMLElement}
 */
export function jsonView(value, name, isOpen = true) {
  const label = name === undefined
    ? undefined
    : h("bdi.json-name", name.slice(0, MAX_LEAF), ": ");
  if (typeof value !== "object" || value === null) {
    const isLong = typeof value === "string" && value.length > MAX_LEAF;
    const text = JSON.stringify(isLong ? value.slice(0, MAX_LEAF) : value);
    return h(
      "div.json-leaf",
      label,
      h("bdi", { class: TONES[typeof value] }, text ?? "undefined"),
      isLong && `… (${value.length.toLocaleString()} characters)`,
    );
  }
  // A list may have millions of items, of which few are shown.
  const names = Array.isArray(value) ? undefined : Object.keys(value);
  const length = names?.length ?? Object(value).length;
  const [begin, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (length === 0) {
    return h("div.json-leaf", label, begin, end);
  }
  const body = h("div.json-body");
  let shown = 0;
  const more = () => {
    const from = shown;
    shown = Math.min(length, from + MAX_ENTRIES);
    rest.remove();
    for (let i = from; i < shown; i++) {
      const key = names?.[i] ?? String(i);
      body.append(jsonView(Reflect.get(value, key), key, false));
    }
    if (shown < length) body.append(rest);
  };
  const rest = button("More", more);
  const count = length === 1 ? "1 entry" : `${length} entries`;
  const details = h(
    "details.json",
    { open: isOpen, onToggle: () => shown === 0 && details.open && more() },
    h("summary", label, `${begin} ${count} ${end}`),
    body,
  );
  if (isOpen) more();
  return details;
}
