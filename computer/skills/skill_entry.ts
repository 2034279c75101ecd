/**
 * The description of a skill: its name, and the front matter of its `SKILL.md` (protocol §8.6).
 *
 * @module
 */
import { ENTRY_FILE, openInSkill, SkillFault } from "./sandbox.ts";
import { isRecord } from "../../protocol/names.ts";
import { isBundleId } from "../../protocol/validation.ts";
import { reasonOf } from "../util/values.ts";
import type { A2CSkillRef } from "../../protocol/mod.ts";
import { readAt } from "../../shared/bytes.ts";
import { loadPackages } from "../../shared/packages.ts";

const MAX_WORD_LENGTH = 64;
const WORD = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Checks whether a text may be the name of a skill, or of a plugin: lower case, with single hyphens. */
export const isSkillWord = (text: string): boolean =>
  text.length <= MAX_WORD_LENGTH && WORD.test(text);

/** Checks whether a text can be the name of a skill: `word`, `plugin:word` or `mcp:server:word` (protocol §8.6). */
export function isSkillName(name: string): boolean {
  const parts = name.split(":");
  const [first, second = "", third = ""] = parts;
  return parts.length === 3
    ? first === "mcp" && isBundleId(second) && isSkillWord(third)
    : parts.length < 3 && parts.every(isSkillWord);
}

/**
 * Reads the description of a skill from its folder.
 *
 * @throws {Error} with the reason why it is not a skill
 */
export async function readEntry(folder: string): Promise<FrontMatter> {
  const { handle } = await openInSkill(folder, ENTRY_FILE).catch((error) => {
    throw new Error(
      error instanceof SkillFault && error.reason !== "not_found"
        ? `its ${ENTRY_FILE} is a link out of it`
        : `it has no ${ENTRY_FILE}`,
      { cause: error },
    );
  });
  try {
    return await readFrontMatter(await readAt(handle, 0, FRONT_MATTER_BYTES));
  } finally {
    await handle.close();
  }
}

/** The front matter has to end within this; every skill's is part of one answer. */
export const FRONT_MATTER_BYTES = 64 * 1024;

/** The fields of a front matter, as `get_skills` passes them on (protocol §8.6). */
type SkillFields = Omit<
  A2CSkillRef,
  "name" | "source" | "path" | "uri" | "version"
>;

/** A front matter that was read. */
interface FrontMatter {
  /** The skill's name for itself. */
  readonly name: string | undefined;
  /** The fields of the skill. */
  readonly fields: SkillFields;
}

/** Between two fences, also after the byte order mark of UTF-8, with one character per byte. */
const FRONT_MATTER =
  /^((?:\u00ef\u00bb\u00bf)?---[ \t]*\r?\n)([^]*?)(?<=\n)---[ \t]*(?:\r?\n|$)/;

/**
 * Finds where the text after the front matter begins; 0 without one.
 *
 * @param head the beginning of the file, at least {@linkcode FRONT_MATTER_BYTES} of it
 */
export const bodyOffset = (head: Uint8Array): number =>
  findFences(head)?.body ?? 0;

/**
 * Reads the front matter of a `SKILL.md`.
 *
 * @param head the beginning of the file, at least {@linkcode FRONT_MATTER_BYTES} of it
 * @throws {Error} with its problem
 */
export async function readFrontMatter(
  head: Uint8Array,
): Promise<FrontMatter> {
  const fences = findFences(head);
  if (!fences) {
    throw new Error(
      `it has no front matter: begin it with a line "---", "description: …" and a line "---"`,
    );
  }
  const data = await parseYaml(fences.yaml);
  const { name } = data;
  if (name !== undefined && typeof name !== "string") {
    throw new Error(`"name" in its front matter is not a text`);
  }
  return { name, fields: readFields(data) };
}

function findFences(
  head: Uint8Array,
): { readonly yaml: string; readonly body: number } | undefined {
  // One character per byte, so that lengths are offsets.
  const text = new TextDecoder("latin1").decode(
    head.subarray(0, FRONT_MATTER_BYTES),
  );
  const [all, fence = "", inner = ""] = FRONT_MATTER.exec(text) ?? [];
  if (all === undefined) return undefined;
  const yaml = head.subarray(fence.length, fence.length + inner.length);
  return { yaml: new TextDecoder().decode(yaml), body: all.length };
}

async function parseYaml(text: string): Promise<Record<string, unknown>> {
  const load = () => import("yaml");
  const { parse } = await loadPackages("read skills", ["yaml"], load);
  let data: unknown;
  try {
    // As JSON, since it is sent as such: a cycle is an error here, where its file is known.
    data = JSON.parse(JSON.stringify(parse(text, { logLevel: "error" })) ?? "");
  } catch (error) {
    const [line] = reasonOf(error).split("\n");
    throw new Error(
      `its front matter is not YAML: ${line?.replace(/:$/, "")}`,
      {
        cause: error,
      },
    );
  }
  if (!isRecord(data)) throw new Error("its front matter has no fields");
  if (JSON.stringify(data).length <= FRONT_MATTER_BYTES) return data;
  throw new Error(
    `its front matter is longer than ${FRONT_MATTER_BYTES} bytes`,
  );
}

function readFields(data: Record<string, unknown>): SkillFields {
  const { description, license, compatibility, metadata, tags } = data;
  if (typeof description !== "string" || description.trim() === "") {
    throw new Error(`its front matter has no "description"`);
  }
  const allowed = data["allowed-tools"] ?? data.allowed_tools;
  return {
    description,
    ...(isPresent(license) && { license: asText(license) }),
    ...(isPresent(compatibility) && { compatibility: asText(compatibility) }),
    ...(isPresent(allowed) && {
      allowed_tools: (Array.isArray(allowed) ? allowed : [allowed]).map(asText),
    }),
    ...(isTextList(tags) && { tags }),
    ...(isRecord(metadata) && { skill_metadata: metadata }),
  };
}

const isPresent = (value: unknown): boolean =>
  value !== undefined && value !== null;

const asText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");
