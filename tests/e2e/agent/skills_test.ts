import { assert, assertEquals, assertRejects } from "@std/assert";
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  BlobError,
  expandSkillDir,
  ProtocolError,
} from "../../../agent/mod.ts";
import { skillText } from "../../support/computer/skill_servers.ts";
import { startOffice } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

const sha256 = (data: string | Uint8Array) =>
  createHash("sha256").update(data).digest("hex");

/** A folder with a skill of the user. */
async function home(path: string): Promise<string> {
  const folder = join(path, "user", "forms");
  await mkdir(folder, { recursive: true });
  const body = "# Forms\nRun ${TFROBOT_SKILL_DIR}/fill.py, ${OTHER}\n";
  await writeFile(
    join(folder, "SKILL.md"),
    skillText("forms", "Fills in forms.", body),
  );
  return folder;
}

for (const protocol of ["0.2", "0.4"] as const) {
  Deno.test(`0.4 §6: getSkills() and getSkill() give texts, long texts and bytes of a Computer of ${protocol}`, () =>
    readsSkills(protocol));
}

async function readsSkills(protocol: "0.2" | "0.4"): Promise<void> {
  await using folder = await scratch();
  const path = await home(folder.path);
  const long = "ä".repeat(150_000);
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  await writeFile(join(path, "long.md"), long);
  await writeFile(join(path, "fill.bin"), bytes);
  await writeFile(join(path, "empty.txt"), "");
  await using office = await startOffice({
    server: { protocol },
    agent: { protocol },
    computers: { pc: { skillHome: folder.path, protocol } },
  });
  const { agent } = office;
  const [forms] = await agent.getSkills("pc");
  assert(forms);
  assertEquals([forms.name, forms.source, forms.description], [
    "forms",
    "user",
    "Fills in forms.",
  ]);

  const entry = await agent.getSkill("pc", forms.name);
  const text = await entry.text();
  assertEquals([entry.name, entry.path, entry.mimeType, entry.size], [
    "forms",
    "SKILL.md",
    "text/markdown",
    text.length,
  ]);
  assertEquals(
    expandSkillDir(text, forms),
    `# Forms\nRun ${await Deno.realPath(path)}/fill.py, \${OTHER}\n`,
  );
  assertEquals(expandSkillDir("${TFROBOT_SKILL_DIR}", { path: "$&" }), "$&");

  const open = (path: string) => agent.getSkill("pc", "forms", { path });
  const longFile = await open("long.md");
  assertEquals([longFile.size, longFile.sha256], [300_000, sha256(long)]);
  assertEquals(await longFile.text(), long);
  const binary = await open("fill.bin");
  assertEquals(binary.mimeType, "application/octet-stream");
  assertEquals(new Uint8Array(await binary.bytes()), bytes);
  await assertRejects(() => binary.text(), TypeError);
  for (const file of [entry, longFile, binary, await open("empty.txt")]) {
    const streamed = await new Response(file.stream()).bytes();
    assertEquals(sha256(streamed), file.sha256, file.path);
    assertEquals(sha256(await file.bytes()), file.sha256, file.path);
  }

  const { code, details } = await assertRejects(
    () => open("../x"),
    ProtocolError,
  );
  assertEquals([code, details?.reason], [4017, "traversal"]);
}

Deno.test("0.4 §6: a file that becomes another one is not mistaken for the first", async () => {
  await using folder = await scratch();
  const path = await home(folder.path);
  await writeFile(join(path, "data.bin"), new Uint8Array(300_000));
  await using office = await startOffice({
    computers: { pc: { skillHome: folder.path } },
  });
  const options = { path: "data.bin" };
  const file = await office.agent.getSkill("pc", "forms", options);
  await writeFile(join(path, "data.bin"), new Uint8Array(300_000).fill(1));
  const error = await assertRejects(() => file.bytes(), BlobError);
  assertEquals(error.code, "changed");
  const again = await office.agent.getSkill("pc", "forms", options);
  assertEquals((await again.bytes())[0], 1);
});

Deno.test("0.4 §6.1: a text that is not the announced one is refused", async () => {
  const skill = {
    name: "forms",
    rel_path: "SKILL.md",
    mime_type: "text/markdown",
    total_size: 3,
    sha256: sha256("abc"),
  };
  await using office = await startOffice({
    computers: {
      pc: (event, payload) =>
        event === "client:get_skill"
          ? {
            ...skill,
            body: "abd",
            req_id: (payload as { req_id: string }).req_id,
          }
          : undefined,
    },
  });
  const error = await assertRejects(
    () => office.agent.getSkill("pc", "forms"),
    BlobError,
  );
  assertEquals(error.code, "changed");
});

Deno.test("0.4 §6.8: updateSkills tells of a change", async () => {
  await using folder = await scratch();
  await using office = await startOffice({
    computers: { pc: { skillHome: folder.path } },
  });
  const { agent } = office;
  const told = new Promise((resolve) => agent.on("updateSkills", resolve));
  await home(folder.path);
  assertEquals(await told, { computer: "pc" });
});
