import type {
  GetPromptResult,
  ReadResourceResult,
  Resource as McpResource,
} from "@modelcontextprotocol/server";
import { Buffer } from "node:buffer";
import { withTimeout } from "../../shared/async.ts";
import {
  type AgentRequestOptions,
  expandSkillDir,
  type SmcpAgent,
} from "../../agent/mod.ts";
import { type A2CSkillRef, ProtocolError } from "../../protocol/mod.ts";
import { type Place, uriOf } from "./uris.ts";

/** How long a list waits for the skills of one Computer; an old one never answers. */
const LIST_TIMEOUT_MS = 10_000;
/** The most bytes of a file that is one message. */
const MAX_FILE_BYTES = 16 * 2 ** 20;
const ENTRY_FILE = "SKILL.md";

/** Lists the skills of a Computer; none where they cannot be listed now. */
export const skillsOf = (
  agent: SmcpAgent,
  computer: string,
): Promise<A2CSkillRef[]> =>
  withTimeout(
    LIST_TIMEOUT_MS,
    (signal) => agent.getSkills(computer, { signal }),
  ).catch(() => []);

/** Shows a skill as a resource: its `SKILL.md`, below which its other files are. */
export const skillResource = (
  computer: string,
  { name, description }: A2CSkillRef,
): McpResource => ({
  uri: uriOf({ kind: "skill", computer, name, path: ENTRY_FILE }),
  name: `skill ${name} (${computer})`,
  description,
  mimeType: "text/markdown",
});

/** Reads a file of a skill. */
export async function readSkill(
  agent: SmcpAgent,
  place: Place & { readonly kind: "skill" },
  request: AgentRequestOptions,
): Promise<ReadResourceResult> {
  const { computer, name, path } = place;
  const file = await agent.getSkill(computer, name, { path, ...request });
  if (file.size > MAX_FILE_BYTES) {
    throw new ProtocolError(
      400,
      `${path} of skill ${name} has ${file.size} bytes, and a resource at most ${MAX_FILE_BYTES}`,
    );
  }
  const { mimeType } = file;
  const contents = { uri: uriOf(place), mimeType };
  const bytes = Buffer.from(await file.bytes());
  const text = bytes.toString();
  // What is no UTF-8 would come back as other bytes; a script is text whatever its type.
  const isText = !text.includes("\0") && Buffer.from(text).equals(bytes);
  return {
    contents: [
      isText
        ? { ...contents, text }
        : { ...contents, blob: bytes.toString("base64") },
    ],
  };
}

/** Gets the instructions of a skill as a prompt, with its folder in them. */
export async function skillPrompt(
  agent: SmcpAgent,
  computer: string,
  skill: A2CSkillRef,
  request: AgentRequestOptions,
): Promise<GetPromptResult> {
  const file = await agent.getSkill(computer, skill.name, request);
  const text = expandSkillDir(await file.text(), skill);
  return {
    description: skill.description,
    messages: [{ role: "user", content: { type: "text", text } }],
  };
}
