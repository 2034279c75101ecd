import { isRecord } from "../../protocol/names.ts";
import type { Resource } from "../../protocol/mod.ts";

/** How an MCP server hands a skill over (protocol §8.6). */
export type SkillSource =
  | { readonly kind: "mounted"; readonly folder: string }
  | {
    readonly kind: "archive";
    readonly uri: string;
    readonly format: "tar.gz" | "zip";
    readonly sha256: string | undefined;
  }
  | { readonly kind: "resources" };

/** A skill that an MCP server lists. */
export interface SkillRoot {
  /** Its `skill://` URI. */
  readonly uri: string;
  /** How to get it; or why that is unknown. */
  readonly source: SkillSource | {
    readonly kind: "invalid";
    readonly problem: string;
  };
  /** The version in the server's list. */
  readonly version: string | undefined;
  /** URIs of the resources below it. */
  readonly files: readonly string[];
  /** Changes with any of its fields in the list. */
  readonly state: string;
}

const KINDS: readonly unknown[] = ["mounted", "archive", "resources"];
const SKILL_URI = /^skill:\/\/[^/?#]+\/[^/?#][^?#]*$/;

/** Longer ones are ignored: each part of it is looked at. */
const MAX_URI_LENGTH = 8_192;

/** Returns whether a URI is that of a skill, or of a file of one. */
export const isSkillUri = (uri: unknown): uri is string =>
  typeof uri === "string" && uri.length <= MAX_URI_LENGTH &&
  SKILL_URI.test(uri);

/** Finds the skills in a list of resources; one below another is a plain file of it (protocol §8.6). */
export function skillRoots(resources: readonly Resource[]): SkillRoot[] {
  const listed = new Map<string, Record<string, unknown>>();
  for (const { uri, _meta } of resources) {
    // The first of a URI counts.
    if (!isSkillUri(uri) || listed.has(uri)) continue;
    listed.set(uri, isRecord(_meta) ? _meta : {});
  }
  const uris = [...listed.keys()];
  const candidates = new Set(
    uris.filter((uri) => KINDS.includes(listed.get(uri)?.source)),
  );
  const below = Map.groupBy(uris, (uri) => topmost(uri, candidates));
  const roots = (below.get(undefined) ?? [])
    .filter((uri) => candidates.has(uri));
  return roots.map((uri) => {
    const meta = listed.get(uri) ?? {};
    const files = below.get(uri) ?? [];
    return {
      uri,
      source: readSource(meta),
      version: meta.version?.toString(),
      files,
      state: JSON.stringify([meta, files.toSorted()]),
    };
  });
}

/** Returns the path of a file below its skill, with `/`; it is as hostile as its server. */
export const pathBelow = (root: string, uri: string): string =>
  uri.slice(root.length + 1).split("/").map(decode).join("/");

/** Finds the highest of the candidates above a URI. */
function topmost(
  uri: string,
  candidates: ReadonlySet<string>,
): string | undefined {
  let slash = uri.indexOf("/", uri.indexOf("/", "skill://".length) + 1);
  for (; slash > 0; slash = uri.indexOf("/", slash + 1)) {
    const above = uri.slice(0, slash);
    if (candidates.has(above)) return above;
  }
  return undefined;
}

function readSource(meta: Record<string, unknown>): SkillRoot["source"] {
  const { source, mount_dir: folder } = meta;
  if (source === "resources") return { kind: source };
  if (source === "mounted") {
    return typeof folder === "string"
      ? { kind: source, folder }
      : invalid(`"mount_dir" is not a text`);
  }
  const { archive_uri: uri, archive_format: format, archive_sha256 } = meta;
  if (typeof uri !== "string") return invalid(`"archive_uri" is not a text`);
  if (format !== "tar.gz" && format !== "zip") {
    return invalid(`"archive_format" is neither "tar.gz" nor "zip"`);
  }
  const sha256 = archive_sha256 ?? undefined;
  if (sha256 === undefined) return { kind: "archive", uri, format, sha256 };
  return typeof sha256 === "string" && /^[0-9a-f]{64}$/i.test(sha256)
    ? { kind: "archive", uri, format, sha256: sha256.toLowerCase() }
    : invalid(`"archive_sha256" is not a SHA-256 in hexadecimal digits`);
}

const invalid = (problem: string): SkillRoot["source"] => ({
  kind: "invalid",
  problem: `its _meta: ${problem}`,
});

/** Decodes a segment; one that cannot be decoded stays, and a slash in it would be a hostile one. */
function decode(segment: string): string {
  try {
    const text = decodeURIComponent(segment);
    return text.includes("/") ? segment : text;
  } catch {
    return segment;
  }
}
