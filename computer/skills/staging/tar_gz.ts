import { createTarDecoder } from "modern-tar";
import { inflate } from "./inflate.ts";
import type { StagingFolder } from "./staging_folder.ts";

/** What tar adds to each file: a header, a filling, and a long name. */
const OVERHEAD_BYTES = 8 * 1024;
const ANY_EXECUTE = 0o111;

/**
 * Unpacks a `tar.gz`.
 *
 * @throws {Error} when it is damaged, has links or devices, or exceeds a limit
 */
export async function unpackTarGz(
  data: Uint8Array,
  folder: StagingFolder,
): Promise<void> {
  const { bytes, members } = folder.limits;
  const entries = ReadableStream.from(
    // Headers without files count too, or there could be any number.
    inflate(data, "gzip", bytes + members * OVERHEAD_BYTES),
  ).pipeThrough(createTarDecoder({ strict: true }));
  for await (const { header, body } of entries) {
    const { type, mode = 0 } = header;
    const name = header.name.replace(/^(?:\.\/)+/, "");
    if (type === "file") {
      await folder.addFile(name, body, (mode & ANY_EXECUTE) !== 0);
    } else if (type === "directory") {
      await body.cancel();
      if (name !== "" && name !== ".") await folder.addFolder(name);
    } else if (type !== "pax-global-header") {
      throw new Error(`it has a ${type}: ${JSON.stringify(header.name)}`);
    } else await body.cancel();
  }
}
