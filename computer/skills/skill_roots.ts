import { isRecord } from "../util/values.ts";
import type { Resource } from "../../protocol/mod.ts";

/** How an MCP server hands a skill over (0.4 §6.4). */
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
  /** The version that the server tells. */
  readonly version: string | undefined;
  /** URIs of the resources below it. */
  readonly files: readonly string[];
  /** Changes with anything that the list tells of it. */
  readonly state: string;
}

const KINDS: readonly unknown[] = ["mounted", "archive", "resources"];
const SKILL_URI = /^skill:\/\/[^/?#]+\/[^/?#][^?#]*$/;

/** Longer ones are ignored: each part of it is looked at. */
const MAX_URI_LENGTH = 8_192;

/** Tells whether a URI is that of a skill, or of a file of one. */
export const isSkillUri = (uri: unknown): uri is string =>
  typeof uri === "string" && uri.length <= MAX_URI_LENGTH &&
  SKILL_URI.test(uri);

/** Finds the skills in a list of resources; one below another is a plain file of it (0.4 §6.4). */
export function skillRoots(resources: readonly Resource[]): SkillRoot[] {
  const listed = new Map<string, Record<string, unknown>>();
  for (const { uri, _meta } of resources) {
    // The first of a URI counts.
    if (!isSkillUri(uri) || listed.has(uri)) continue;
    listed.set(uri, isRecord(_meta) ? _meta : {});
  }
  const candidates = new Set(
    [...listed].filter(([, { source }]) => KINDS.includes(source))
      .map(([uri]) => uri),
  );
  const files = new Map<string, string[]>();
  const roots: string[] = [];
  for (const uri of listed.keys()) {
    const above = topmost(uri, candidates);
    if (above === undefined) {
      if (candidates.has(uri)) roots.push(uri);
    } else {
      const below = files.get(above) ?? [];
      below.push(uri);
      files.set(above, below);
    }
  }
  return roots.map((uri) => {
    const meta = listed.get(uri) ?? {};
    const below = files.get(uri) ?? [];
    return {
      uri,
      source: sourceOf(meta),
      version: meta.version?.toString(),
      files: below,
      state: JSON.stringify([meta, below.toSorted()]),
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
  const afterHost = uri.indexOf("/", "skill://".length);
  for (
    let slash = uri.indexOf("/", afterHost + 1);
    slash > 0;
    slash = uri.indexOf("/", slash + 1)
  ) {
    const above = uri.slice(0, slash);
    if (candidates.has(above)) return above;
  }
  return undefined;
}

function sourceOf(meta: Record<string, unknown>): SkillRoot["source"] {
  const { source, mount_dir, archive_uri, archive_format, archive_sha256 } =
    meta;
  if (source === "resources") return { kind: "resources" };
  if (source === "mounted") {
    return typeof mount_dir === "string"
      ? { kind: "mounted", folder: mount_dir }
      : invalid(`"mount_dir" is no text`);
  }
  if (typeof archive_uri !== "string") {
    return invalid(`"archive_uri" is no text`);
  }
  if (archive_format !== "tar.gz" && archive_format !== "zip") {
    return invalid(`"archive_format" is neither "tar.gz" nor "zip"`);
  }
  const archive = { uri: archive_uri, format: archive_format } as const;
  if (archive_sha256 === undefined || archive_sha256 === null) {
    return { kind: "archive", ...archive, sha256: undefined };
  }
  const isHash = typeof archive_sha256 === "string" &&
    /^[0-9a-f]{64}$/i.test(archive_sha256);
  return isHash
    ? { kind: "archive", ...archive, sha256: archive_sha256.toLowerCase() }
    : invalid(`"archive_sha256" is no SHA-256 in hexadecimal digits`);
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
