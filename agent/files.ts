/**
 * Files of this machine: one that is sent, and one that is fetched.
 *
 * @module
 */
import { BlobError } from "./blobs.ts";
import * as noFiles from "./no_files.ts";
import { builtin, fromBase64 } from "./bytes.ts";
import type { GetFileOptions } from "./options.ts";
import * as extensions from "./queries.ts";
import * as queries from "./queries.ts";
import type { Requests } from "./requests.ts";
import {
  ErrorCode,
  mcpServerOf,
  ProtocolError,
  type ResourceContents,
  type SMCPTool,
} from "../protocol/mod.ts";
import { readAt } from "../shared/bytes.ts";

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
  const fs = builtin("node:fs/promises");
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
  /** Its media type, if the MCP server says it. */
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
  const fs = builtin("node:fs/promises");
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
  // Beside it and then renamed: what is at the path is never half a file.
  const part = `${path}.${crypto.randomUUID()}.part`;
  try {
    await fs.writeFile(part, bytes);
    await fs.rename(part, path);
  } catch (error) {
    await fs.rm(part, { force: true });
    throw error;
  }
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
  const config = signal ? { signal } : {};
  const { servers } = await queries.config(requests, computer, config);
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
      const contents = await extensions.readResource(
        requests,
        { computer, mcpServer, uri },
        options,
      );
      return { mcpServer, contents };
    } catch (error) {
      const isOfServer = error instanceof ProtocolError &&
        error.fields.mcp_server !== undefined;
      if (!isOfServer || servers.length === 1) throw error;
      reasons.push(error.message);
    }
  }
  throw new ProtocolError(
    ErrorCode.NOT_FOUND,
    `No MCP server of Computer ${JSON.stringify(computer)} has ${uri}${
      reasons.length > 0 ? `: ${reasons.join("; ")}` : "; it has none"
    }`,
    { fields: { uri } },
  );
}

/** @throws {BlobError} `invalid`: it is not one file */
function itemOf(
  contents: readonly ResourceContents[],
  uri: string,
): ResourceContents {
  const [only, ...others] = contents;
  const item = others.length === 0
    ? only
    : contents.find((each) => each.uri === uri);
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
  throw new BlobError(
    "invalid",
    `The contents of ${uri} are neither text nor base64`,
  );
}
