// Skills of a user and of an MCP server, against the installed package.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { expandSkillDir } from "@a2c-smcp/sdk/agent";
import { startOffice } from "@a2c-smcp/sdk/testing";

/** An office with a Computer whose folder of skills is empty. */
async function start(t) {
  const folder = await mkdtemp(join(tmpdir(), "smcp-skills-"));
  t.after(() => rm(folder, { recursive: true }));
  const skillHome = join(folder, "skills");
  const office = await startOffice({ computers: { pc: { skillHome } } });
  t.after(() => office.close());
  return { agent: office.agent, folder, user: join(skillHome, "user") };
}

test("skills: one that is added is announced, read and fetched in parts", async (t) => {
  const { agent, user, folder } = await start(t);
  assert.deepEqual(await agent.getSkills("pc"), []);
  const skill = join(user, "forms");
  await mkdir(skill, { recursive: true });
  await writeFile(join(skill, "big.md"), "0123456789".repeat(100_000));
  await writeFile(join(folder, "secret.txt"), "secret");
  await symlink(join(folder, "secret.txt"), join(skill, "secret.md"));
  await writeFile(
    join(skill, "SKILL.md"),
    "---\nname: forms\ndescription: Forms.\n---\nIn ${TFROBOT_SKILL_DIR}\n",
  );
  let found;
  while (true) {
    const change = new Promise((resolve) => {
      const off = agent.on("updateSkills", () => {
        off();
        resolve();
      });
    });
    [found] = await agent.getSkills("pc");
    if (found) break;
    await change;
  }
  assert.equal(found.name, "forms");
  const entry = await agent.getSkill("pc", "forms");
  assert.equal(expandSkillDir(await entry.text(), found), `In ${found.path}\n`);
  const big = await agent.getSkill("pc", "forms", { path: "big.md" });
  assert.equal((await big.text()).length, 1_000_000);
  for (
    const [path, reason] of [
      ["secret.md", "traversal"],
      ["../../../secret.txt", "traversal"],
      [".skillenv", "forbidden"],
      ["nothing", "not_found"],
    ]
  ) {
    await assert.rejects(
      agent.getSkill("pc", "forms", { path }),
      ({ code, details }) => code === 4017 && details.reason === reason,
    );
  }
});
