import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runHere, runMain } from "../../support/command.ts";
import { configFile } from "../../support/computer/config_file.ts";
import {
  skillServer,
  skillText,
} from "../../support/computer/skill_servers.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

/** A folder of skills with one of the user. */
async function skillsHome() {
  const home = await scratch();
  const skillHome = join(home.path, "skills");
  const folder = join(skillHome, "user", "forms");
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, "SKILL.md"),
    skillText("forms", "Fills in forms. And more."),
  );
  await writeFile(join(folder, "fill.bin"), new Uint8Array([0, 255, 1]));
  return { ...home, skillHome };
}

Deno.test("smcp-agent skills and skill list, print and write skills", async () => {
  await using home = await skillsHome();
  const { skillHome } = home;
  await using office = await startOffice({ computers: { pc: { skillHome } } });
  await office.agent.leave();
  const run = (...args: string[]) =>
    runHere("agent", [...args, "--url", office.url, "--office", OFFICE]);

  const list = await run("skills");
  assertEquals(list.stdout, "forms  user  Fills in forms.\n", list.stderr);
  const [listed] = JSON.parse((await run("skills", "--json")).stdout);
  assertEquals([listed.name, listed.source], ["forms", "user"]);

  assertEquals((await run("skill", "forms")).stdout, "# forms\n");
  const json = JSON.parse((await run("skill", "forms", "--json")).stdout);
  assertEquals([json.path, json.text], ["SKILL.md", "# forms\n"]);

  const binary = await run("skill", "forms", "fill.bin");
  assertEquals(binary.code, 2);
  assertStringIncludes(
    binary.stderr,
    "fill.bin is binary (application/octet-stream): write it to a file with --output FILE",
  );
  const output = join(home.path, "out.bin");
  const written = await run("skill", "forms", "fill.bin", "--output", output);
  assertEquals([written.code, written.stdout], [0, ""], written.stderr);
  assertEquals([...await readFile(output)], [0, 255, 1]);

  for (
    const [args, text] of [
      [["other"], 'There is no skill "other"; "skills" lists them'],
      [["No Name"], "Invalid skill name"],
      [["forms", "x.md"], 'x.md of skill "forms" does not exist'],
      [["forms", ".skillenv"], '.skillenv of skill "forms" has secrets'],
      [["forms", "../x"], '../x of skill "forms" leads out of its folder'],
    ] as const
  ) {
    const failed = await run("skill", ...args);
    assertEquals(failed.code, 1);
    assertStringIncludes(failed.stderr, text);
  }
});

Deno.test("smcp-computer check and shell show skills, and which are left out", async () => {
  await using home = await skillsHome();
  const { skillHome } = home;
  const at = (path: string) => `skill://example/${path}`;
  await using config = await configFile({
    servers: {
      fix: skillServer({
        roots: {
          [at("csv")]: { source: "resources" },
          [at("odd")]: { source: "resources" },
        },
        texts: { [at("csv/SKILL.md")]: skillText("csv", "Reads CSV.") },
      }),
    },
  });
  const check = (...flags: string[]) =>
    runMain("computer", ["check", "--config", config.file, ...flags], {
      env: { A2C_SKILL_HOME: skillHome },
    });

  const checked = await check();
  assertMatch(checked.stdout, /^2 skills: forms, mcp:fix:csv$/m);
  assertMatch(
    checked.stdout,
    /^problem: Skill skill:\/\/example\/odd is left out: it has no SKILL\.md$/m,
  );
  assertEquals(checked.code, 1);

  const without = await check("--no-skills", "--json");
  const { skills, problems } = JSON.parse(without.stdout);
  assertEquals([skills, problems, without.code], [[], [], 0]);

  const shell = await runMain(
    "computer",
    ["shell", "--skills", skillHome],
    { input: "skills\nstatus\n" },
  );
  assertMatch(shell.stdout, /forms +│ Fills in forms/);
});
