import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { createHash } from "node:crypto";
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type A2CSkillRef, ProtocolError } from "../../../protocol/mod.ts";
import { getBlob } from "../../../protocol/payloads/blobs.ts";
import { getSkill, getSkills } from "../../../protocol/payloads/skills.ts";
import { partsOf } from "../../../computer/tool_host.ts";
import {
  startComputer,
  takeSeat,
  type WireAgent,
} from "../../support/computer/computer.ts";
import {
  skillServer,
  skillText,
} from "../../support/computer/skill_servers.ts";
import { zipOf } from "../../support/computer/zip.ts";
import { scratch } from "../../support/scratch.ts";

const list = async (agent: WireAgent): Promise<A2CSkillRef[]> =>
  getSkills.parseAnswer(await agent.ask("client:get_skills", {})).skills;

const names = async (agent: WireAgent): Promise<string[]> =>
  (await list(agent)).map(({ name }) => name);

const get = async (agent: WireAgent, name: string, rel_path?: string) =>
  getSkill.parseAnswer(
    await agent.ask("client:get_skill", {
      name,
      ...(rel_path !== undefined && { rel_path }),
    }),
  );

/** Asks for a file, and returns the error. */
const refusal = async (agent: WireAgent, name: string, rel_path?: string) => {
  const { code, details } = await assertRejects(
    () => get(agent, name, rel_path),
    ProtocolError,
  );
  return { code, details };
};

/** Resolves when a condition holds; it is checked again each time that skills changed. */
async function until(
  { connection }: WireAgent,
  isSo: () => Promise<boolean>,
): Promise<void> {
  while (true) {
    const change = Promise.withResolvers<void>();
    const off = connection.on("notification", ({ event, payload }) => {
      if (event !== "notify:update_skills") return;
      assertEquals(payload, { computer: "pc" });
      change.resolve();
    });
    const holds = await isSo();
    if (!holds) await change.promise;
    off();
    if (holds) return;
  }
}

/** Resolves when the skills have these names. */
const become = (agent: WireAgent, ...wanted: string[]): Promise<void> =>
  until(agent, async () => (await names(agent)).join() === wanted.join());

const sha256 = (data: string | Uint8Array) =>
  createHash("sha256").update(data).digest("hex");

/** A skill of the user, as Claude Code has them. */
async function addUserSkill(home: string, name: string): Promise<string> {
  const folder = join(home, "user", name);
  const files = {
    "SKILL.md": `---
name: ${name}
description: >-
  Fills in forms. Use when somebody has a form.
license: Complete terms in LICENSE.txt
allowed-tools: Bash Read
tags: [forms, pdf]
metadata: { author: me, short-description: Forms }
---
# Forms
Run \${TFROBOT_SKILL_DIR}/scripts/fill.py
`,
    "scripts/fill.py": "print('filled')\n",
    "references/big.md": "0123456789".repeat(5_400),
    ".skillenv": "KEY=secret",
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

Deno.test("protocol §8.6: skills of the user are listed, read and fetched in parts", async () => {
  await using home = await scratch();
  const folder = await addUserSkill(home.path, "forms");
  await using started = await startComputer({}, { skillHome: home.path });
  const agent = await takeSeat(started.office);
  assertEquals(await list(agent), [{
    name: "forms",
    source: "user",
    path: await Deno.realPath(folder),
    description: "Fills in forms. Use when somebody has a form.",
    license: "Complete terms in LICENSE.txt",
    allowed_tools: ["Bash Read"],
    tags: ["forms", "pdf"],
    skill_metadata: { author: "me", "short-description": "Forms" },
  }]);

  const body = "# Forms\nRun ${TFROBOT_SKILL_DIR}/scripts/fill.py\n";
  const entry = {
    name: "forms",
    rel_path: "SKILL.md",
    mime_type: "text/markdown",
    total_size: body.length,
    sha256: sha256(body),
    body,
    req_id: "1",
  };
  assertEquals(await get(agent, "forms"), entry);
  assertEquals(await get(agent, "forms", ""), entry);
  assertEquals(await get(agent, "forms", "./SKILL.md"), {
    ...entry,
    rel_path: "./SKILL.md",
  });

  const { blob_handle = "", ...script } = await get(
    agent,
    "forms",
    "scripts/fill.py",
  );
  assertEquals(script, {
    name: "forms",
    rel_path: "scripts/fill.py",
    mime_type: "application/octet-stream",
    total_size: 16,
    sha256: sha256("print('filled')\n"),
    req_id: "1",
  });
  const chunk = async (blob_handle: string | undefined, over: object = {}) =>
    getBlob.parseAnswer(
      await agent.ask("client:get_blob", { blob_handle, ...over }),
    );
  const part = await chunk(blob_handle, {
    chunk_offset: 6,
    max_chunk_bytes: 4,
  });
  assertEquals(
    [atob(part.blob), part.eof, part.sha256],
    ["'fil", false, script.sha256],
  );
  const big = await get(agent, "forms", "references/big.md");
  assertEquals(
    [big.mime_type, big.total_size, big.body],
    ["text/markdown", 54_000, undefined],
  );
  const whole = await chunk(big.blob_handle);
  assertEquals(
    [atob(whole.blob), whole.eof],
    ["0123456789".repeat(5_400), true],
  );

  // The rules of skills hold again for each part.
  await rm(join(folder, "scripts", "fill.py"));
  await Deno.symlink("../.skillenv", join(folder, "scripts", "fill.py"));
  const reason = async (blob_handle = "") => {
    const { code, details } = await assertRejects(
      () => chunk(blob_handle),
      ProtocolError,
    );
    return [code, details?.reason];
  };
  assertEquals(await reason(blob_handle), [4018, "forbidden"]);
  await rm(join(folder, "references", "big.md"));
  assertEquals(await reason(big.blob_handle), [4018, "gone"]);
  await rename(folder, join(home.path, "elsewhere"));
  await become(agent);
  assertEquals(await reason(blob_handle), [4018, "gone"]);
  const forge = (handle: unknown) =>
    btoa(JSON.stringify(handle)).replaceAll("=", "");
  for (
    const handle of [
      { kind: "skill", name: "forms", path: ["SKILL.md"] },
      { kind: "skill", path: "SKILL.md" },
      { kind: "file", path: "/etc/passwd" },
    ]
  ) assertEquals(await reason(forge(handle)), [4018, "invalid_handle"]);
});

Deno.test("protocol §8.6: what is not given out is refused with its code and reason", async () => {
  await using home = await scratch();
  const folder = await addUserSkill(home.path, "forms");
  await using huge = await Deno.open(join(folder, "huge.bin"), {
    create: true,
    write: true,
  });
  await huge.truncate(100 * 2 ** 20 + 1);
  await using started = await startComputer({}, { skillHome: home.path });
  const agent = await takeSeat(started.office);
  for (const name of ["Bad Name!!", "a:b:c", "../forms", "a:b:c:d"]) {
    assertEquals(await refusal(agent, name), { code: 4016, details: { name } });
  }
  for (const name of ["other", "mcp:x", "mcp:x:forms"]) {
    assertEquals(await refusal(agent, name), { code: 4014, details: { name } });
  }
  const expected: [rel_path: string, reason: string, more?: object][] = [
    ["../../x", "traversal"],
    ["/etc/passwd", "traversal"],
    [".SKILLENV", "forbidden"],
    ["nope.md", "not_found"],
    ["scripts", "not_found"],
    ["huge.bin", "too_large", { total_size: 100 * 2 ** 20 + 1 }],
  ];
  for (const [rel_path, reason, more] of expected) {
    assertEquals(await refusal(agent, "forms", rel_path), {
      code: 4017,
      details: { reason, rel_path, ...more },
    });
  }
});

Deno.test("protocol §8.6: changes of the user's folder are announced, bursts once", async () => {
  await using home = await scratch();
  await using started = await startComputer({}, { skillHome: home.path });
  const agent = await takeSeat(started.office);
  assertEquals(await names(agent), []);
  let announced = 0;
  agent.connection.on("notification", ({ event }) => {
    if (event === "notify:update_skills") announced++;
  });
  // The folder itself is made only now, and the skill in several steps.
  await addUserSkill(home.path, "forms");
  await become(agent, "forms");
  assert(announced < 5, `${announced} announcements of one skill`);
  await writeFile(
    join(home.path, "user", "forms", "SKILL.md"),
    skillText("forms", "Another description."),
  );
  await until(
    agent,
    async () => (await list(agent))[0]?.description === "Another description.",
  );
  await mkdir(join(home.path, "user", "Bad Name"));
  await become(agent, "forms");
  await rm(join(home.path, "user", "forms"), { recursive: true });
  await become(agent);
  const [problem = ""] = started.computer.status().problems;
  assert(problem.includes("Bad Name is left out"), problem);
});

Deno.test("protocol §8.6: MCP servers bring skills in three ways; one that cannot be had is left out", async () => {
  await using home = await scratch();
  await using mounts = await scratch();
  const mounted = join(mounts.path, "any-name");
  await mkdir(mounted);
  await writeFile(
    join(mounted, "SKILL.md"),
    skillText("mounted", "Is mounted."),
  );
  await writeFile(join(mounted, "run.sh"), "#!");
  const zip = zipOf(
    { name: "SKILL.md", data: skillText("packed", "Is packed.") },
    { name: "data/table.json", data: "[]" },
  );
  await using http = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => new Response(zip),
  );
  const archive = {
    source: "archive",
    archive_uri: `http://127.0.0.1:${http.addr.port}/skill.zip`,
    archive_format: "zip",
  };
  const at = (path: string) => `skill://com.example/${path}`;
  const texts = {
    [at("csv/SKILL.md")]: skillText("csv-tools", "Reads CSV."),
    [at("csv/references/a.md")]: "a reference",
    [at("evil/SKILL.md")]: skillText("evil", "Leads out."),
    [at("evil/../../../../evil.md")]: "evil",
  };
  const roots = {
    [at("mnt")]: { source: "mounted", mount_dir: mounted },
    [at("zip")]: { ...archive, archive_sha256: sha256(zip), version: "3.1" },
    [at("csv")]: { source: "resources" },
    [at("evil")]: { source: "resources" },
    [at("damaged")]: { ...archive, archive_sha256: "0".repeat(64) },
  };
  await using started = await startComputer(
    { fix: skillServer({ roots, texts }) },
    { skillHome: home.path },
  );
  const agent = await takeSeat(started.office);
  const mcp = (skill: string) => `mcp:fix:${skill}`;
  const all = [mcp("mounted"), mcp("packed"), mcp("csv-tools")];
  await become(agent, ...all);
  assertEquals((await list(agent))[1], {
    name: mcp("packed"),
    source: "mcp:fix",
    uri: at("zip"),
    path: join(home.path, "mcp", "fix", "packed"),
    description: "Is packed.",
    version: "3.1",
  });
  const bodyOf = async (skill: string, path?: string) =>
    (await get(agent, mcp(skill), path)).body;
  assertEquals(await bodyOf("mounted"), "# mounted\n");
  assertEquals(await bodyOf("packed", "data/table.json"), "[]");
  assertEquals(await bodyOf("csv-tools", "references/a.md"), "a reference");
  assert((await get(agent, mcp("mounted"), "run.sh")).blob_handle);
  const problems = started.computer.status().problems.join("\n");
  assertMatch(
    problems,
    /evil is left out: it has a file outside of its folder/,
  );
  assertMatch(problems, /damaged is left out: its archive has SHA-256/);
  assertEquals(
    (await readdir(join(home.path, "mcp", "fix"))).toSorted(),
    ["csv-tools", "mounted", "packed"],
  );

  const change = (params: Record<string, unknown>) =>
    agent.call({
      tool_name: "change",
      params,
      req_id: crypto.randomUUID(),
    });
  // Contents of a known skill.
  texts[at("csv/references/a.md")] = "another reference";
  const first = await change({ texts, tell: at("csv/references/a.md") });
  assertEquals(first.isError ?? false, false, JSON.stringify(first));
  await until(
    agent,
    async () =>
      await bodyOf("csv-tools", "references/a.md") === "another reference",
  );
  // The list.
  await change({
    roots: { [at("csv")]: { source: "resources" } },
    tell: "list",
  });
  await become(agent, mcp("csv-tools"));
  await partsOf(started.computer).skills.settled(); // files go after the list
  assertEquals(await readdir(join(home.path, "mcp", "fix")), ["csv-tools"]);

  // Hidden while the server is gone, with the files where they are; back with it.
  await started.computer.stopServer("fix");
  await become(agent);
  assertEquals(await readdir(join(home.path, "mcp", "fix")), ["csv-tools"]);
  assertEquals((await refusal(agent, mcp("csv-tools"))).code, 4014);
  await started.computer.startServer("fix");
  await become(agent, ...all);
});

Deno.test("protocol §8.6: without a folder a Computer has no skills", async () => {
  await using started = await startComputer({
    fix: skillServer({
      roots: { "skill://h/a": { source: "resources" } },
      texts: { "skill://h/a/SKILL.md": skillText("a", "A.") },
    }),
  });
  const agent = await takeSeat(started.office);
  assertEquals(await list(agent), []);
  assertEquals((await refusal(agent, "forms")).code, 4014);
  assertEquals((await refusal(agent, "No Name")).code, 4016);
});
