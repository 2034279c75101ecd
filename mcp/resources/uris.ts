/** What a URI of the office's MCP server stands for. */
export type Place =
  | { readonly kind: "desktop"; readonly computer: string }
  | {
    readonly kind: "window" | "document";
    readonly computer: string;
    /** The Computer's own URI: `window://…` or `dpe://…`. */
    readonly uri: string;
  }
  | {
    readonly kind: "resource";
    readonly computer: string;
    /** The MCP server that has it. */
    readonly server: string;
    /** Its URI there. */
    readonly uri: string;
  }
  | {
    readonly kind: "skill";
    readonly computer: string;
    /** The skill's name. */
    readonly name: string;
    /** Path of a file in its folder. */
    readonly path: string;
  };

/** The parts of each kind's URI, after the Computer and the kind. */
const FIELDS = {
  desktop: [],
  window: ["uri"],
  document: ["uri"],
  skill: ["name", "path"],
  resource: ["server", "uri"],
} as const satisfies Record<Place["kind"], readonly string[]>;

const template = <Kind extends Place["kind"]>(
  name: Kind,
  description: string,
  mimeType?: string,
) => ({
  uriTemplate: `a2c://{computer}/${
    [name, ...FIELDS[name].map((field) => `{${field}}`)].join("/")
  }`,
  name,
  description,
  ...(mimeType !== undefined && { mimeType }),
});

const MARKDOWN = "text/markdown";

/** How clients build URIs of what no list has. */
export const TEMPLATES = [
  template(
    "desktop",
    "The windows of a Computer, most relevant first",
    MARKDOWN,
  ),
  template(
    "window",
    "One window of a Computer, by its window:// URI",
    MARKDOWN,
  ),
  template(
    "document",
    "A document of a Computer as Markdown, by its dpe:// URI",
    MARKDOWN,
  ),
  template("skill", "A file of a skill of a Computer, such as its SKILL.md"),
  template(
    "resource",
    "Any resource of an MCP server of a Computer, by its URI",
  ),
] as const;

/** Writes the URI of a place: those of two Computers never clash. */
export function uriOf(place: Place): string {
  const values: Partial<Record<string, string>> = { ...place };
  const fields = FIELDS[place.kind].map((field) => encode(values[field] ?? ""));
  return `a2c://${encode(place.computer)}/${[place.kind, ...fields].join("/")}`;
}

/** Reads a URI; undefined where it is none of ours. */
export function placeOf(text: string): Place | undefined {
  const [head, kind = "", ...rest] = text.replace(/^a2c:\/\//i, "a2c:")
    .split("/");
  if (!head?.startsWith("a2c:") || !isKind(kind)) return undefined;
  const values = [head.slice("a2c:".length), ...rest].map(decode);
  const fields = ["computer", ...FIELDS[kind]];
  if (values.length !== fields.length || !values.every(Boolean)) {
    return undefined;
  }
  const entries = fields.map((field, i) => [field, values[i]]);
  return { kind, ...Object.fromEntries(entries) };
}

const isKind = (text: string): text is Place["kind"] =>
  Object.hasOwn(FIELDS, text);

/** Names come off the wire, and may hold half a surrogate pair, which cannot be written in a URI. */
const encode = (text: string): string =>
  encodeURIComponent(text.toWellFormed());

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
