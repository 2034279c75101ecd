/**
 * The URIs of an office's MCP server, each of which names its Computer.
 *
 * A resource of an MCP server has the server's own URI as last part: percent-encoded, as templates of ours expand it,
 * or as it is, as the server's own templates do behind ours, so that what a client expands is exactly what the
 * server would have got. A URI begins with a scheme, and what is percent-encoded has no colon, so that the
 * two are never taken for each other. Pages (`ui://`) keep their scheme, by which clients know them.
 *
 * @module
 */
import { isPageUri } from "../../protocol/mcp/apps.ts";

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
    /** How that is written: as it is, else percent-encoded. */
    readonly form?: "plain";
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

/** What all pages begin with, in place of `a2c:` and the kind. */
const PAGES = "ui://a2c/";

/** Matches the scheme of a URI. */
const SCHEME = /^[a-z][a-z\d+.-]*:/i;

/** Writes the URI of a place: those of two Computers never clash. */
export function uriOf(place: Place): string {
  if (place.kind === "resource") {
    const { computer, server, uri, form } = place;
    if (form === "plain" && SCHEME.test(uri)) {
      return `${serverPart({ computer, server })}${uri}`;
    }
    if (isPageUri(uri)) {
      return PAGES + [computer, server, uri].map(encode).join("/");
    }
  }
  const values: Partial<Record<string, string>> = { ...place };
  const fields = FIELDS[place.kind].map((field) => encode(values[field] ?? ""));
  return `a2c://${encode(place.computer)}/${[place.kind, ...fields].join("/")}`;
}

/** Where an MCP server is. */
export interface ServerPlace {
  /** The Computer that has it. */
  readonly computer: string;
  /** What Agents call it. */
  readonly server: string;
}

/** What the URIs of an MCP server's resources begin with, as plain text after which its own URI follows. */
const serverPart = ({ computer, server }: ServerPlace): string =>
  `a2c://${encode(computer)}/resource/${encode(server)}/`;

/** Writes a template of an MCP server: what it expands to is read there by what the server's own one expands to. */
export const templateOf = (place: ServerPlace, uriTemplate: string): string =>
  serverPart(place) + uriTemplate;

/** Writes all URIs by which clients may mean a place; the first one is the same for all of them. */
export function urisOf(place: Place): [string, ...string[]] {
  if (place.kind !== "resource") return [uriOf(place)];
  const { form: _, ...bare } = place;
  return [uriOf(bare), uriOf({ ...bare, form: "plain" })];
}

/** The longest URI that is written in another way. */
const MAX_URI = 16_384;

/**
 * Writes the URI of what an MCP server refers to, so that clients can read it.
 *
 * Those of the web stay as they are, since clients may fetch them themselves.
 */
export function linkTo({ computer, server }: ServerPlace, uri: string): string {
  if (uri === "" || uri.length > MAX_URI || isOfWeb(uri)) return uri;
  if (/^window:/i.test(uri)) return uriOf({ kind: "window", computer, uri });
  if (/^dpe:/i.test(uri)) return uriOf({ kind: "document", computer, uri });
  return uriOf({ kind: "resource", computer, server, uri });
}

/** Whether a URI can be read without its MCP server. */
export const isOfWeb = (uri: string): boolean => /^(https?|data):/i.test(uri);

/** Reads a URI; undefined where it is none of ours. */
export function placeOf(text: string): Place | undefined {
  if (text.startsWith(PAGES)) {
    const parts = text.slice(PAGES.length).split("/").map(decode);
    const [computer, server, uri] = parts;
    return parts.length === 3 && computer && server && uri
      ? { kind: "resource", computer, server, uri }
      : undefined;
  }
  return plainPlace(text) ?? encodedPlace(text);
}

/** Reads a URI behind which that of an MCP server stands as it is. */
function plainPlace(text: string): Place | undefined {
  const parts = /^a2c:(?:\/\/)?([^/]+)\/resource\/([^/]+)\/(.*)$/is.exec(text);
  if (parts === null) return undefined;
  const [computer, server] = parts.slice(1, 3).map((part) => decode(part));
  const [, , , uri = ""] = parts;
  return computer && server && SCHEME.test(uri)
    ? { kind: "resource", computer, server, uri, form: "plain" }
    : undefined;
}

function encodedPlace(text: string): Place | undefined {
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
