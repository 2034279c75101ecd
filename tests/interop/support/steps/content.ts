import { assert, assertEquals } from "@std/assert";
import { randomBytes } from "node:crypto";
import { sha256 } from "../workplace/http_servers.ts";
import { LONG_TEXT, SCRIPT, skillBody } from "../workplace/skill_files.ts";
import { type Step, textOf } from "./step.ts";

const MEBIBYTE = 2 ** 20;
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Skills of a person and of an MCP server (0.4 §6). */
export const SKILLS = {
  "skills are listed": async ({ agent }) => {
    let skills = await agent.skills();
    // Those of an MCP server may come after the Computer's join.
    while (skills.length < 2) {
      await agent.heard("update_skills");
      skills = await agent.skills();
    }
    const found = new Map(skills.map((skill) => [skill.name, skill]));
    assertEquals([...found.keys()].sort(), ["greeting", "mcp:My_Files:haiku"]);
    assertEquals(found.get("greeting")?.source, "user");
    assertEquals(found.get("greeting")?.description, "About greeting.");
    assertEquals(found.get("mcp:My_Files:haiku")?.version, "1.2.0");
  },
  "text of a skill": async ({ agent }) => {
    const { mimeType, bytes } = await agent.skill("greeting");
    assertEquals(mimeType, "text/markdown");
    assertEquals(text(bytes), skillBody("greeting"));
  },
  "long text of a skill": async ({ agent }) => {
    const { bytes } = await agent.skill("greeting", "long.md");
    assertEquals(text(bytes), LONG_TEXT);
  },
  "file of a skill by its handle": async ({ agent }) => {
    const { mimeType, bytes } = await agent.skill("greeting", "scripts/run.sh");
    assertEquals(mimeType, "application/octet-stream");
    assertEquals(text(bytes), SCRIPT);
  },
  "hidden file of a skill": async ({ agent }) => {
    const failure = await agent.skill("greeting", ".skillenv")
      .then(() => "no failure", String);
    assert(/not accessible/.test(failure), failure);
  },
  "notify update_skills": async ({ agent, place }) => {
    await place.addSkill("farewell");
    const isListed = async () =>
      (await agent.skills()).some(({ name }) => name === "farewell");
    while (!await isListed()) await agent.heard("update_skills");
  },
} satisfies Record<string, Step>;

/** Binary content of results, which may be larger than a message (0.4 §7.3). */
export const IMAGE = {
  "image of 1 MiB": async ({ agent }) => {
    const result = await agent.call("image", { bytes: MEBIBYTE });
    const [digest, image] = result.content;
    assert(digest?.type === "text" && image?.type === "image");
    const bytes = Uint8Array.fromBase64(image.data);
    assertEquals(bytes.length, MEBIBYTE);
    assertEquals(sha256(bytes), digest.text);
    assertEquals(image.mimeType, "image/png");
    assertEquals(Object.keys(image._meta ?? {}), []);
  },
} satisfies Record<string, Step>;

/** Files of the Agent for the Computer (0.4 §7.5). */
export const UPLOAD = {
  upload: async ({ agent, place }) => {
    const bytes = new Uint8Array(randomBytes(MEBIBYTE));
    const path = await agent.put("../we ird.bin", bytes);
    assert(path.startsWith(place.landingRoot), path);
    assert(path.endsWith("_we_ird.bin"), path);
    const seen = await agent.call("digest", { path });
    assertEquals(textOf(seen), sha256(bytes));
  },
} satisfies Record<string, Step>;
