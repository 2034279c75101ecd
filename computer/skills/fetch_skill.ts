import { atMost, unpackTarGz, unpackZip } from "./archives.ts";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { isAbsolute, join } from "node:path";
import { opendir, realpath } from "node:fs/promises";
import type { McpConnection } from "../host/mcp/mcp_connection.ts";
import { openInSkill, SkillFault } from "./sandbox.ts";
import { pathBelow, type SkillRoot, type SkillSource } from "./skill_roots.ts";
import type { StagingFolder } from "./staging_folder.ts";
import { withDeadline } from "../../shared/async.ts";

/** The source of a skill. */
export interface SkillServer {
  /** The MCP server. */
  readonly connection: Pick<McpConnection, "readResource">;
  /** Whether it runs on this machine, so that its folders are folders here. */
  readonly isLocal: boolean;
}

const DOWNLOAD_TIMEOUT_MS = 120_000;
const READ_TIMEOUT_MS = 60_000;

/**
 * Writes the files of a skill into a folder.
 *
 * @throws {Error} with the reason why it cannot be fetched
 */
export async function fetchSkill(
  { uri, source, files }: SkillRoot,
  { connection, isLocal }: SkillServer,
  folder: StagingFolder,
  signal: AbortSignal,
): Promise<void> {
  switch (source.kind) {
    case "invalid":
      throw new Error(source.problem);
    case "mounted":
      if (!isLocal) {
        throw new Error(
          "it is mounted, but its MCP server is not on this machine",
        );
      }
      return await copyMounted(source.folder, folder, signal);
    case "archive":
      return await unpack(source, folder, signal);
    case "resources":
      for (const file of files) {
        const pieces = await readFile(connection, file, signal);
        await folder.addFile(pathBelow(uri, file), pieces);
      }
  }
}

async function unpack(
  { uri, format, sha256 }: Extract<SkillSource, { kind: "archive" }>,
  folder: StagingFolder,
  signal: AbortSignal,
): Promise<void> {
  const data = await withDeadline(
    DOWNLOAD_TIMEOUT_MS,
    (signal) => download(uri, folder.limits.packedBytes, signal),
    { signal },
  );
  const found = createHash("sha256").update(data).digest("hex");
  if (sha256 !== undefined && found !== sha256) {
    throw new Error(`its archive has SHA-256 ${found}, not ${sha256}`);
  }
  const unpackArchive = format === "zip" ? unpackZip : unpackTarGz;
  await unpackArchive(data, folder);
}

async function download(
  uri: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  if (!/^https?:/i.test(uri)) {
    throw new Error("the URL of its archive is not http or https");
  }
  const response = await fetch(uri, { signal });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`its archive: HTTP ${response.status}`);
  }
  const { body } = response;
  if (!body) return new Uint8Array();
  const pieces = atMost(maxBytes, body, "its archive");
  return Buffer.concat(await Array.fromAsync(pieces));
}

async function readFile(
  connection: SkillServer["connection"],
  uri: string,
  signal: AbortSignal,
): Promise<Uint8Array[]> {
  const contents = await withDeadline(
    READ_TIMEOUT_MS,
    (signal) => connection.readResource(uri, { signal }),
    { signal },
  );
  return contents.map(({ text, blob }) => {
    if (typeof text === "string") return new TextEncoder().encode(text);
    if (typeof blob === "string") return Buffer.from(blob, "base64");
    throw new Error(`${uri} has neither text nor bytes`);
  });
}

/**
 * Copies a folder that an MCP server names.
 *
 * Links are followed as they are when a file is given out: within the folder only. Others, and
 * what is no file, are left out.
 *
 * @throws {Error} when there is no such folder, it is no skill, or it exceeds a limit
 */
async function copyMounted(
  mounted: string,
  folder: StagingFolder,
  signal: AbortSignal,
): Promise<void> {
  if (!isAbsolute(mounted)) throw new Error(`its "mount_dir" is not absolute`);
  const root = await realpath(mounted).catch(() => {
    throw new Error(`its folder ${mounted} does not exist`);
  });
  // First of all, so that nothing is copied of a folder that is no skill.
  if (!await copyFile(root, "SKILL.md", folder)) {
    throw new Error(`its folder ${mounted} has no SKILL.md`);
  }
  await copyFolder(root, "", folder, signal);
}

async function copyFolder(
  root: string,
  path: string,
  folder: StagingFolder,
  signal: AbortSignal,
): Promise<void> {
  for await (const entry of await opendir(join(root, path))) {
    signal.throwIfAborted();
    const inner = path === "" ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) await copyFolder(root, inner, folder, signal);
    else if (inner !== "SKILL.md") await copyFile(root, inner, folder);
  }
}

/** Returns whether there was a file to copy. */
async function copyFile(
  root: string,
  path: string,
  folder: StagingFolder,
): Promise<boolean> {
  try {
    const { handle, stats } = await openInSkill(root, path);
    try {
      const isProgram = (stats.mode & 0o111n) !== 0n;
      const pieces = handle.createReadStream({ autoClose: false });
      await folder.addFile(path, pieces, isProgram);
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    if (error instanceof SkillFault) return false;
    throw error;
  }
}
