/**
 * Files of this machine: one that is sent, and one that is fetched.
 *
 * @module
 */
import { BlobError } from "./blobs.ts";
import * as noFiles from "./no_files.ts";
import { fromBase64 } from "./bytes.ts";
import { nodeModule } from "../client/node_modules.ts";
import { GET_FILE_NAMES, type GetFileOptions } from "./options.ts";
import { readResource } from "./queries.ts";
import type { Requests } from "./requests.ts";
import {
  ErrorCode,
  GET_CONFIG_EVENT,
  mcpServerOf,
  ProtocolError,
  type ResourceContents,
  type SMCPTool,
} from "../protocol/mod.ts";
import { readAt, replaceFile } from "../shared/bytes.ts";
import { checkNames } from "../shared/checks.ts";

/** A file that is open for reading. */
export interface FileSource {
  /** Number of bytes. */
  readonly size: number;
  /** Reads bytes; fewer only at the end. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** Closes it. */
  close(): Promise<void>;
}

/** Opens a file of this machine. */
export async function openPath(path: string): Promise<FileSource> {
  const fs = nodeModule("node:fs/promises");
  if (!fs) return await noFiles.openPath();
  const file = await fs.open(path);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) {
      throw new TypeError(`Cannot put ${path}: it is not a file`);
    }
    return {
      size: stat.size,
      read: (offset, length) => readAt(file, offset, length),
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** A file that was fetched from a Computer. */
export interface GotFile {
  /** Its path on this machine. */
  readonly path: string;
  /** Number of bytes. */
  readonly size: number;
  /** Its media type, if the MCP server gives it. */
  readonly mimeType?: string;
  /** How requests name the MCP server that has it. */
  readonly mcpServer: string;
}

/** The file to fetch, and where to. */
interface FileToGet {
  /** Name of the Computer. */
  readonly computer: string;
  /** The URI of a resource there. */
  readonly uri: string;
  /** A path on this machine. */
  readonly path: string;
}

/**
 * Fetches a resource of a Computer into a file.
 *
 * @param tools that the Computer offers, which name its MCP servers
 */
export async function getFile(
  requests: Requests,
  { computer, uri, path }: FileToGet,
  tools: readonly SMCPTool[],
  options: GetFileOptions,
): Promise<GotFile> {
  checkNames(options, GET_FILE_NAMES, "getFile()");
  const fs = nodeModule("node:fs/promises");
  if (!fs) return await noFiles.getFile();
  if (/^dpe:/i.test(uri)) {
    throw new TypeError(
      `${uri} is a document, not a file; open it with openDocument`,
    );
  }
  const { mcpServer, ...rest } = options;
  const servers = mcpServer === undefined
    ? await serversOf(requests, computer, tools, options)
    : [mcpServer];
  const found = await readFrom(requests, { computer, uri }, servers, rest);
  const { mimeType, ...item } = itemOf(found.contents, uri);
  const bytes = bytesOf(item, uri);
  options.signal?.throwIfAborted();
  await replaceFile(fs, path, bytes);
  return {
    path,
    size: bytes.length,
    ...(typeof mimeType === "string" && { mimeType }),
    mcpServer: found.mcpServer,
  };
}

/** Names the MCP servers of a Computer; its configuration leaves out those in its own process. */
async function serversOf(
  requests: Requests,
  computer: string,
  tools: readonly SMCPTool[],
  { signal }: GetFileOptions,
): Promise<string[]> {
  const request = { computer };
  const { servers } = await requests.ask(GET_CONFIG_EVENT, request, { signal });
  const ofTools = tools.flatMap((tool) => mcpServerOf(tool) ?? []);
  return [...new Set([...Object.keys(servers), ...ofTools])];
}

/** Reads a resource from the first MCP server that has it. */
async function readFrom(
  requests: Requests,
  { computer, uri }: Omit<FileToGet, "path">,
  servers: readonly string[],
  options: Omit<GetFileOptions, "mcpServer">,
): Promise<{ mcpServer: string; contents: ResourceContents[] }> {
  const reasons: string[] = [];
  for (const mcpServer of servers) {
    try {
      const place = { computer, mcp_server: mcpServer, uri };
      const contents = await readResource(requests, place, options);
      return { mcpServer, contents };
    } catch (error) {
      const isOfServer = error instanceof ProtocolError &&
        error.fields.mcp_server !== undefined;
      if (!isOfServer || servers.length === 1) throw error;
      reasons.push(error.message);
    }
  }
  const why = reasons.length > 0 ? `: ${reasons.join("; ")}` : "; it has none";
  const message = `No MCP server of Computer ${
    JSON.stringify(computer)
  } has ${uri}${why}`;
  throw new ProtocolError(ErrorCode.NOT_FOUND, message, { fields: { uri } });
}

/** @throws {BlobError} `invalid`: it is not one file */
function itemOf(
  contents: readonly ResourceContents[],
  uri: string,
): ResourceContents {
  const item = contents.length > 1
    ? contents.find((each) => each.uri === uri)
    : contents[0];
  if (item) return item;
  throw new BlobError(
    "invalid",
    contents.length === 0
      ? `${uri} has no contents`
      : `${uri} is not one file but ${contents.length}; read it with readResource`,
  );
}

/** @throws {BlobError} `invalid`: there are no bytes */
function bytesOf(
  { text, blob }: Omit<ResourceContents, "mimeType">,
  uri: string,
): Uint8Array {
  if (typeof text === "string") return new TextEncoder().encode(text);
  const bytes = typeof blob === "string" ? fromBase64(blob) : undefined;
  if (bytes) return bytes;
  const message = `The contents of ${uri} are neither text nor base64`;
  throw new BlobError("invalid", message);
}
