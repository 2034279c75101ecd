/** `${input:ID}`: what stands for a value that the configuration does not hold (spec §4). */
const PLACEHOLDER = /\$\{input:([^}]*)\}/g;

/** A stretch of a string: literal text, or one placeholder. */
export type TextPart =
  | { readonly kind: "text"; readonly text: string }
  | {
    readonly kind: "placeholder";
    /** With its `${input:` and `}`. */
    readonly text: string;
    /** What it asks for. */
    readonly id: string;
  };

/** Cuts a string into literal runs and placeholders. */
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

/** The ids of all placeholders in a configuration, each once, in the order of their appearance. */
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
