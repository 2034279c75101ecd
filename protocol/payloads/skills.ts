import * as z from "../validation.ts";
import type { AgentCallData } from "./tools.ts";

/** Requests the skills of a Computer (protocol §8.6). */
export interface GetSkillsReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
}

/** A skill of a Computer: a folder with a `SKILL.md` (protocol §8.6). */
export interface A2CSkillRef {
  /** Its name, opaque: `<skill>`, `<plugin>:<skill>` or `mcp:<bundle_id>:<skill>`. */
  name: string;
  /** Where it comes from: `user`, `marketplace:<marketplace>` or `mcp:<bundle_id>`. */
  source: string;
  /** Absolute path of its folder on the Computer. */
  path: string;
  /** What it is for. */
  description: string;
  /** The `skill://` URI of a skill of an MCP server; informational. */
  uri?: string;
  /** Its licence. */
  license?: string;
  /** What it needs. */
  compatibility?: string;
  /** The tools that it may use. */
  allowed_tools?: string[];
  /** Its version. */
  version?: string;
  /** What its author wrote under `metadata`. */
  skill_metadata?: Record<string, unknown>;
  /** Its tags (0.4). */
  tags?: string[];
}

/** The skills of a Computer whose source is present (protocol §8.6). */
export interface GetSkillsRet {
  /** The skills, in the order of their discovery. */
  skills: A2CSkillRef[];
  /** The `req_id` of the request. */
  req_id: string;
}

/** Requests a file of a skill (protocol §8.6). */
export interface GetSkillReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** Name of the skill. */
  name: string;
  /** Path of the file in the skill's folder; `SKILL.md` when absent or empty. */
  rel_path?: string;
}

/** A file of a skill: either its text or a handle for its bytes (protocol §8.6). */
export interface GetSkillRet {
  /** Name of the skill. */
  name: string;
  /** Path of the file in the skill's folder. */
  rel_path: string;
  /** Its media type. */
  mime_type: string;
  /** Size of the file in bytes; of `SKILL.md` without its front matter. */
  total_size: number;
  /** SHA-256 of these bytes as hexadecimal digits. */
  sha256: string;
  /** The `req_id` of the request. */
  req_id: string;
  /** The text, if it is a short one. */
  body?: string;
  /** The handle for `client:get_blob`, otherwise. */
  blob_handle?: string;
}

/**
 * The parsers of `client:get_skills`. Only the required fields of a skill are checked: one odd optional
 * field must not cost the list.
 */
export const getSkills = z.routed(
  z.computerCall({}),
  z.answer({
    skills: z.listOf(z.pipe(
      z.looseObject({
        name: z.string(),
        source: z.string(),
        path: z.string(),
        description: z.string(),
        skill_metadata: z.exactOptional(z.plainObject),
      }),
      z.transform((skill) => skill as A2CSkillRef),
    )),
  }),
);

/** The parsers of `client:get_skill`; an answer has exactly one of `body` and `blob_handle`. */
export const getSkill = z.routed(
  z.computerCall({
    name: z.identifier,
    rel_path: z.exactOptional(z.textOf(0, 4096)),
  }),
  z.answer({
    name: z.string(),
    rel_path: z.string(),
    mime_type: z.string(),
    total_size: z.count,
    sha256: z.string(),
    body: z.exactOptional(z.string()),
    blob_handle: z.exactOptional(z.string()),
  }).check(z.refine(
    ({ body, blob_handle }) =>
      (body === undefined) !== (blob_handle === undefined),
    "expected either body or blob_handle",
  )),
);
