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

/** How clients build URIs of what no list has. */
export const TEMPLATES = [
  {
    uriTemplate: "a2c://{computer}/desktop",
    name: "desktop",
    description: "The windows of a Computer, most relevant first",
    mimeType: "text/markdown",
  },
  {
    uriTemplate: "a2c://{computer}/window/{uri}",
    name: "window",
    description: "One window of a Computer, by its window:// URI",
    mimeType: "text/markdown",
  },
  {
    uriTemplate: "a2c://{computer}/document/{uri}",
    name: "document",
    description: "A document of a Computer as Markdown, by its dpe:// URI",
    mimeType: "text/markdown",
  },
  {
    uriTemplate: "a2c://{computer}/skill/{name}/{path}",
    name: "skill",
    description: "A file of a skill of a Computer, such as its SKILL.md",
  },
  {
    uriTemplate: "a2c://{computer}/resource/{server}/{uri}",
    name: "resource",
    description: "Any resource of an MCP server of a Computer, by its URI",
  },
] as const;

/** Writes the URI of a place: those of two Computers never clash. */
export function uriOf(place: Place): string {
  const { kind, computer } = place;
  const rest = kind === "desktop"
    ? []
    : kind === "resource"
    ? [place.server, place.uri]
    : kind === "skill"
    ? [place.name, place.path]
    : [place.uri];
  const parts = [kind, ...rest.map(encode)];
  return `a2c://${encode(computer)}/${parts.join("/")}`;
}

/** Reads a URI; undefined where it is none of ours. */
export function placeOf(text: string): Place | undefined {
  const [head, kind, ...rest] = text.replace(/^a2c:\/\//i, "a2c:").split("/");
  if (!head?.startsWith("a2c:")) return undefined;
  const computer = decode(head.slice("a2c:".length));
  const parts = rest.map(decode);
  if (!computer || !parts.every((part) => part !== undefined)) return undefined;
  const [first, second] = parts;
  switch (kind) {
    case "desktop":
      return parts.length === 0 ? { kind, computer } : undefined;
    case "window":
    case "document":
      return parts.length === 1 && first
        ? { kind, computer, uri: first }
        : undefined;
    case "resource":
      return parts.length === 2 && first && second
        ? { kind, computer, server: first, uri: second }
        : undefined;
    case "skill":
      return parts.length === 2 && first && second
        ? { kind, computer, name: first, path: second }
        : undefined;
  }
  return undefined;
}

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
