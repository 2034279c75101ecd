import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { loadPackages } from "../../../shared/packages.ts";
import { withDeadline } from "../../../shared/async.ts";
import type { McpConnection } from "../../host/mcp/connection.ts";
import { copyMounted } from "./mounted.ts";
import { pathBelow, type SkillRoot, type SkillSource } from "./skill_roots.ts";
import type { StagingFolder } from "./staging_folder.ts";

/** What a skill is fetched from. */
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
 * @throws {Error} that says why it cannot be had
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
        await folder.addFile(
          pathBelow(uri, file),
          await readFile(connection, file, signal),
        );
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
  if (format === "zip") {
    const { unpackZip } = await loadPackages(
      "unpack a zip",
      ["yauzl"],
      () => import("./zip.ts"),
    );
    await unpackZip(data, folder);
  } else {
    const { unpackTarGz } = await loadPackages(
      "unpack a tar.gz",
      ["modern-tar"],
      () => import("./tar_gz.ts"),
    );
    await unpackTarGz(data, folder);
  }
}

async function download(
  uri: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  if (!/^https?:/i.test(uri)) {
    throw new Error("the address of its archive is none of http or https");
  }
  const response = await fetch(uri, { signal });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`its archive: HTTP ${response.status}`);
  }
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > maxBytes) {
      throw new Error(`its archive is larger than ${maxBytes} bytes`);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
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
