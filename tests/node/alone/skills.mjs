// Reads a skill.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolHost } from "@a2c-smcp/sdk/computer";

const home = await mkdtemp(join(tmpdir(), "smcp-skills-"));
const skill = join(home, "user", "forms");
await mkdir(skill, { recursive: true });
await writeFile(
  join(skill, "SKILL.md"),
  "---\nname: forms\ndescription: Forms.\n---\n",
);
const host = new ToolHost({ servers: {}, skillHome: home });
const [found] = await host.getSkills();
const [problem] = host.status().problems;
await host.close();
await rm(home, { recursive: true });
if (problem) throw new Error(problem);
console.log(found?.name === "forms" ? "works" : "found nothing");
