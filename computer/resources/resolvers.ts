/**
 * Publishing documents as files: a document becomes files, which a resolver stores in a folder, or
 * in an object storage (`s3_resolver.ts`).
 *
 * @module
 */
import { resolve } from "node:path";
import * as fs from "node:fs/promises";
import { pathToFileURL } from "node:url";
import type { DpeResolution, DpeResolver } from "./dpe.ts";
import { isRecord } from "../../protocol/names.ts";
import {
  buildDpeUri,
  parseDpeUri,
  type ResourceContents,
} from "../../protocol/mod.ts";
import { forEachConcurrent } from "../../shared/async.ts";
import { replaceFile } from "../../shared/bytes.ts";

const MAX_CONCURRENT_UPLOADS = 8;

/**
 * Stores a document and its parts; the parts first, so that the document can link to them.
 *
 * @param store stores or replaces a file and returns its URI
 * @throws {Error} as `documentFiles` and `store`
 */
export async function publish(
  dpeUri: string,
  contents: readonly ResourceContents[],
  store: (file: DocumentFile) => Promise<string>,
): Promise<DpeResolution> {
  const { document, parts } = await documentFiles(dpeUri, contents);
  const links = new Map<string, string>();
  await forEachConcurrent(parts, MAX_CONCURRENT_UPLOADS, async (part) => {
    const stored = await store(part);
    if (part.uri !== undefined) links.set(part.uri, stored);
  });
  const linked = linkParts(document, links);
  return {
    uri: await store(linked),
    mime_type: linked.mimeType,
    size: linked.bytes.length,
  };
}

/** A file made of contents. */
export interface DocumentFile {
  /** `[A-Za-z0-9._-]`, at most 120 characters, unique to the document; valid on any storage. */
  readonly name: string;
  /** Its content. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Its media type. */
  readonly mimeType: string;
  /** Its URI at the MCP server. */
  readonly uri?: string;
}

/** Length of the readable part of a file name; the hash after it makes the name unique. */
const READABLE_NAME_CHARACTERS = 64;

/**
 * Converts a document's contents to files; names depend only on the URI and the position, so a
 * document that is resolved again replaces itself.
 *
 * @param dpeUri `dpe://HOST/DOC-REF`; cannot inject a path into a name
 * @returns the document itself, and the files that it refers to, such as the pages of a manifest
 * @throws {Error} when there are no contents, or some are neither text nor base64
 */
export async function documentFiles(
  dpeUri: string,
  contents: readonly ResourceContents[],
): Promise<{ document: DocumentFile; parts: DocumentFile[] }> {
  const name = await baseName(dpeUri);
  const own = contents.find(({ uri }) => uri === dpeUri) ?? contents[0];
  if (!own) throw new Error("the MCP server gave no contents for it");
  const { default: mime } = await import("mime/lite");
  const others = contents.filter((item) => item !== own);
  return {
    document: toDocumentFile(name, own, mime),
    parts: others.map((item, i) =>
      toDocumentFile(`${name}.${i + 1}`, item, mime)
    ),
  };
}

/**
 * Replaces the `uri` of each page of a manifest whose part was stored; other documents stay
 * unchanged.
 *
 * @param links addresses of the stored parts, by their URI at the MCP server
 */
export function linkParts(
  document: DocumentFile,
  links: ReadonlyMap<string, string>,
): DocumentFile {
  if (links.size === 0) return document;
  const json = parseJson(new TextDecoder().decode(document.bytes));
  if (!isRecord(json) || !Array.isArray(json.pages)) return document;
  const pages = json.pages.map((page: unknown) => {
    if (!isRecord(page) || typeof page.uri !== "string") return page;
    return { ...page, uri: links.get(page.uri) ?? page.uri };
  });
  return { ...document, bytes: encode(JSON.stringify({ ...json, pages })) };
}

async function baseName(dpeUri: string): Promise<string> {
  const uri = parseDpeUri(dpeUri);
  const hash = await crypto.subtle.digest("SHA-256", encode(buildDpeUri(uri)));
  const hex = [...new Uint8Array(hash, 0, 16)]
    .map((byte) => byte.toString(16).padStart(2, "0"));
  const readable = [uri.host, ...uri.docRef].join("-")
    .replaceAll(/[^A-Za-z0-9]+/g, "-").slice(0, READABLE_NAME_CHARACTERS)
    .replaceAll(/^-+|-+$/g, "");
  return [readable, hex.join("")].filter((part) => part !== "").join("-");
}

function toDocumentFile(
  name: string,
  { uri, text, blob, mimeType }: ResourceContents,
  mime: { getExtension(type: string): string | null },
): DocumentFile {
  const bytes = text !== undefined ? encode(text) : decode(blob);
  const type = mimeType ?? guessType(text);
  const extension = mime.getExtension(type);
  return {
    name: extension === null ? name : `${name}.${extension}`,
    bytes,
    mimeType: type,
    ...(uri !== undefined && { uri }),
  };
}

const guessType = (text: string | undefined): string =>
  text === undefined
    ? "application/octet-stream"
    : isRecord(parseJson(text))
    ? "application/json"
    : "text/plain";

function decode(blob: string | undefined): Uint8Array<ArrayBuffer> {
  if (blob === undefined) {
    throw new Error("the MCP server gave contents without text and blob");
  }
  try {
    return Uint8Array.from(atob(blob), (unit) => unit.charCodeAt(0));
  } catch {
    throw new Error("the MCP server gave a blob that is not base64");
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const encode = (text: string): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(text);

/**
 * Publishes documents as files of a directory, for Agents that see the same disk (protocol §8.3).
 *
 * Nothing is ever written outside the directory: names contain only safe characters, and a link in
 * the place of a file is replaced, not followed. Files are replaced atomically.
 *
 * ```ts
 * import { localDirResolver, type SmcpComputer } from "@a2c-smcp/sdk/computer";
 *
 * export function publish(computer: SmcpComputer): void {
 *   computer.registerDpeResolver(localDirResolver("/srv/documents"));
 * }
 * ```
 *
 * @param dir created if missing
 * @returns a resolver whose URIs are `file://`
 */
export function localDirResolver(dir: string): DpeResolver {
  return {
    resolve: async (uri, contents, { signal }) => {
      await fs.mkdir(dir, { recursive: true });
      return await publish(uri, contents, async ({ name, bytes }) => {
        signal.throwIfAborted();
        const path = resolve(dir, name);
        await replaceFile(fs, path, bytes);
        return pathToFileURL(path).href;
      });
    },
  };
}
