/** `${input:ID}` stands for a value that is not in the configuration (spec §4). */
const PLACEHOLDER = /\$\{input:([^}]*)\}/g;

/** A part of a string: literal text, or one placeholder. */
export type TextPart =
  | { readonly kind: "text"; readonly text: string }
  | {
    readonly kind: "placeholder";
    /** Including `${input:` and `}`. */
    readonly text: string;
    /** The id of the input. */
    readonly id: string;
  };

/** Splits a string into literal text and placeholders. */
export function splitPlaceholders(value: string): TextPart[] {
  const parts: TextPart[] = [];
  let at = 0;
  for (const match of value.matchAll(PLACEHOLDER)) {
    if (match.index > at) {
      parts.push({ kind: "text", text: value.slice(at, match.index) });
    }
    const [text, id = ""] = match;
    parts.push({ kind: "placeholder", text, id });
    at = match.index + text.length;
  }
  if (at < value.length) parts.push({ kind: "text", text: value.slice(at) });
  return parts;
}

/** Collects the ids of all placeholders in a configuration, without duplicates, in order of appearance. */
export function placeholderIds(value: unknown): string[] {
  const ids = new Set<string>();
  collect(value, ids);
  return [...ids];
}

function collect(value: unknown, ids: Set<string>): void {
  if (typeof value === "string") {
    for (const part of splitPlaceholders(value)) {
      if (part.kind === "placeholder") ids.add(part.id);
    }
  } else if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) collect(item, ids);
  }
}
