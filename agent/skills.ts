import { checkNames, present } from "../shared/checks.ts";
import { BlobError, fetchWhole, openBlob } from "./blobs.ts";
import { sha256 } from "./bytes.ts";
import { GET_SKILL_NAMES, type GetSkillOptions } from "./options.ts";
import type { Requests } from "./requests.ts";
import { GET_SKILL_EVENT, type GetSkillRet } from "../protocol/mod.ts";

/** A file of a skill; a long one is fetched when it is read (protocol §8.6). */
export interface SkillFile {
  /** Name of the skill. */
  readonly name: string;
  /** Path of the file in the skill's folder. */
  readonly path: string;
  /** Its media type. */
  readonly mimeType: string;
  /** Number of its bytes; of `SKILL.md` without its front matter. */
  readonly size: number;
  /** SHA-256 of its bytes as lower-case hexadecimal digits. */
  readonly sha256: string;
  /**
   * Reads it as text; placeholders stay, see `expandSkillDir`.
   *
   * @throws {TypeError} when it is not UTF-8
   * @throws {BlobError} when it is another file by now, or cannot be fetched
   */
  text(): Promise<string>;
  /**
   * Reads it whole.
   *
   * @throws {BlobError} when it is another file by now, or cannot be fetched
   */
  bytes(): Promise<Uint8Array>;
  /** Reads it piece by piece; its SHA-256 is compared at the end. */
  stream(): ReadableStream<Uint8Array>;
}

/** Requests a file of a skill (protocol §8.6). */
export async function skillFile(
  requests: Requests,
  computer: string,
  name: string,
  options: GetSkillOptions,
): Promise<SkillFile> {
  checkNames(options, GET_SKILL_NAMES, "getSkill()");
  const { signal, reqId, path } = options;
  const request = present({ computer, name, rel_path: path });
  const answer = await requests.ask(GET_SKILL_EVENT, request, {
    signal,
    reqId,
  });
  const digest = answer.sha256.toLowerCase();
  const { body, blob_handle: handle = "", total_size: size } = answer;
  const place = { requests, computer, handle, expected: digest };
  const inline = body === undefined ? body : await inlineBytes(body, answer);
  const bytes = () =>
    inline ? Promise.resolve(inline.slice()) : fetchWhole(place, size, signal);
  return {
    name,
    path: answer.rel_path,
    mimeType: answer.mime_type,
    size,
    sha256: digest,
    bytes,
    text: async () =>
      body ??
        new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
          .decode(await bytes()),
    stream: () =>
      inline
        ? new ReadableStream({
          start(controller) {
            if (inline.length > 0) controller.enqueue(inline.slice());
            controller.close();
          },
        })
        : openBlob(place, signal),
  };
}

/** Returns the bytes of a text that came with the answer, which have to be the announced ones. */
async function inlineBytes(
  body: string,
  { sha256: announced, name, rel_path }: GetSkillRet,
): Promise<Uint8Array> {
  const bytes = new TextEncoder().encode(body);
  const digest = sha256();
  digest.update(bytes);
  if (await digest.hex() === announced.toLowerCase()) return bytes;
  throw new BlobError(
    "changed",
    `The text of ${rel_path} of skill "${name}" is not the announced one: it was damaged on the way`,
  );
}

/**
 * Puts the folder of a skill in place of `${TFROBOT_SKILL_DIR}`, for a text that goes into a prompt;
 * every other `${…}` stays (protocol §8.6).
 *
 * @param skill as `getSkills` lists it; its `path` is the folder on its Computer
 */
export const expandSkillDir = (
  text: string,
  skill: { readonly path: string },
): string => text.replaceAll("${TFROBOT_SKILL_DIR}", () => skill.path);
