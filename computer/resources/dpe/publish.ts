import { forEachConcurrent } from "../../../shared/async.ts";
import type { ResourceContents } from "../../../protocol/mod.ts";
import {
  type DocumentFile,
  documentFiles,
  linkParts,
} from "./document_files.ts";
import type { DpeResolution } from "./resolver.ts";

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
