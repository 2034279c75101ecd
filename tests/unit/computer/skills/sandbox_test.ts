import { assert, assertEquals, assertRejects } from "@std/assert";
import { constants } from "node:fs";
import {
  link,
  lstat,
  mkdir,
  open,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import {
  type Disk,
  openInSkill,
  SkillFault,
  type SkillFaultReason,
} from "../../../../computer/skills/sandbox.ts";
import { scratch } from "../../../support/scratch.ts";

const SECRET = "the secret of another skill";

/** A skill beside files that must not be given out; links lead to them. */
async function skill(folder: string): Promise<string> {
  const root = join(folder, "skills", "csv");
  await mkdir(join(root, "references"), { recursive: true });
  await mkdir(join(folder, "skills", "csv-other"));
  await writeFile(join(folder, "secret.txt"), SECRET);
  await writeFile(join(folder, "skills", "csv-other", "SKILL.md"), SECRET);
  await writeFile(join(root, "SKILL.md"), "the entry");
  await writeFile(join(root, "references", "a.md"), "a reference");
  await writeFile(join(root, ".skillenv"), SECRET);
  await writeFile(join(root, "references", ".skillenv"), SECRET);
  await mkdir(join(root, "folder.md"));
  await mkdir(join(root, "vault"));
  await writeFile(join(root, "vault", "x"), "inside");
  await symlink("references/a.md", join(root, "inner.md"));
  await symlink(join(folder, "secret.txt"), join(root, "outer.md"));
  await symlink("../../../secret.txt", join(root, "references", "up.md"));
  await symlink(folder, join(root, "outside"));
  await symlink("/", join(root, "everything"));
  await symlink(".skillenv", join(root, "env.md"));
  await symlink("env.md", join(root, "env2.md"));
  await symlink("../csv-other", join(root, "sibling"));
  await symlink("loop-b", join(root, "loop-a"));
  await symlink("loop-a", join(root, "loop-b"));
  await symlink("nowhere", join(root, "dangling"));
  await link(join(root, ".skillenv"), join(root, "hard.md"));
  await new Deno.Command("mkfifo", { args: [join(root, "pipe.md")] }).output();
  return root;
}

const HOSTILE: [path: string, reason: SkillFaultReason][] = [
  ["../secret.txt", "traversal"],
  ["../../secret.txt", "traversal"],
  ["../csv-other/SKILL.md", "traversal"],
  ["references/../../csv-other/SKILL.md", "traversal"],
  ["references/../SKILL.md", "traversal"],
  ["..", "traversal"],
  ["references/..", "traversal"],
  ["./../csv/SKILL.md", "traversal"],
  ["/etc/passwd", "traversal"],
  ["//etc/passwd", "traversal"],
  ["/", "traversal"],
  ["\\etc\\passwd", "traversal"],
  ["..\\secret.txt", "traversal"],
  ["references\\a.md", "traversal"],
  ["C:/Windows/win.ini", "traversal"],
  ["C:secret.txt", "traversal"],
  ["SKILL.md:stream", "traversal"],
  ["SKILL.md::$DATA", "traversal"],
  ["file:///etc/passwd", "traversal"],
  ["SKILL.md\0.png", "traversal"],
  ["\0", "traversal"],
  ["outer.md", "traversal"],
  ["references/up.md", "traversal"],
  ["outside/secret.txt", "traversal"],
  ["everything/etc/passwd", "traversal"],
  ["sibling/SKILL.md", "traversal"],
  ["sibling", "traversal"],
  ["everything/proc/self/environ", "traversal"],
  [".skillenv", "forbidden"],
  [".SKILLENV", "forbidden"],
  [".skillEnv.", "forbidden"],
  [".skillenv .", "forbidden"],
  [".skillenv/x", "forbidden"],
  ["./.skillenv", "forbidden"],
  ["references/.skillenv", "forbidden"],
  ["nowhere/.skillenv", "forbidden"],
  [".\u017fkillenv", "forbidden"],
  ["\uff0eskillenv", "forbidden"],
  ["env.md", "forbidden"],
  ["env2.md", "forbidden"],
  ["hard.md", "forbidden"],
  ["nope.md", "not_found"],
  ["folder.md", "not_found"],
  [".", "not_found"],
  ["references", "not_found"],
  ["references/", "not_found"],
  ["SKILL.md/x", "not_found"],
  ["loop-a", "not_found"],
  ["dangling", "not_found"],
  ["pipe.md", "not_found"],
  ["%2e%2e/secret.txt", "not_found"],
  ["..%2fsecret.txt", "not_found"],
  ["x".repeat(4096), "not_found"],
  [`${"references/./".repeat(300)}nope`, "not_found"],
];

Deno.test("0.4 §6.6: the sandbox refuses hostile paths, each for its reason", async () => {
  await using folder = await scratch();
  const root = await skill(folder.path);
  assert(HOSTILE.length >= 40);
  for (const [path, reason] of HOSTILE) {
    const fault = await assertRejects(
      () => openInSkill(root, path),
      SkillFault,
      undefined,
      path,
    );
    assertEquals(fault.reason, reason, path);
  }
});

Deno.test("0.4 §6.6: the sandbox opens what is inside, by links within too", async () => {
  await using folder = await scratch();
  const root = await skill(folder.path);
  await symlink(root, join(folder.path, "linked"));
  const cases: [string | undefined, string, string][] = [
    [undefined, "SKILL.md", "the entry"],
    ["", "SKILL.md", "the entry"],
    ["SKILL.md", "SKILL.md", "the entry"],
    ["./SKILL.md", "SKILL.md", "the entry"],
    ["references//a.md", "references/a.md", "a reference"],
    ["inner.md", "references/a.md", "a reference"],
    ["vault/x", "vault/x", "inside"],
  ];
  for (const base of [root, join(folder.path, "linked")]) {
    for (const [path, inner, text] of cases) {
      const opened = await openInSkill(base, path);
      try {
        assertEquals(opened.path, inner);
        assertEquals(await opened.handle.readFile("utf8"), text);
      } finally {
        await opened.handle.close();
      }
    }
  }
});

const real: Disk = {
  open: (path) =>
    open(
      path,
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    ),
  realpath: (path) => realpath(path),
  lstat: (path) => lstat(path, { bigint: true }),
};

/** A disk on which something happens right before each opening. */
const before = (happens: (path: string) => Promise<unknown>): Disk => ({
  ...real,
  open: async (path) => {
    await happens(path);
    return await real.open(path);
  },
});

Deno.test("0.4 §6.6: a link that is put in the file's place after the check is not followed", async () => {
  await using folder = await scratch();
  const root = await skill(folder.path);
  const swap = before(async (path) => {
    await rm(path);
    await symlink(join(folder.path, "secret.txt"), path);
  });
  const fault = await assertRejects(
    () => openInSkill(root, "references/a.md", swap),
    SkillFault,
  );
  assertEquals(fault.reason, "not_found");
});

Deno.test("0.4 §6.6: a link in a folder's place is noticed, even when the folder is back at once", async () => {
  for (const isBack of [false, true]) {
    await using folder = await scratch();
    const root = await skill(folder.path);
    await mkdir(join(folder.path, "evil"));
    await writeFile(join(folder.path, "evil", "x"), SECRET);
    const [vault, aside] = [join(root, "vault"), join(root, "aside")];
    const disk: Disk = {
      ...real,
      open: async (path) => {
        await rename(vault, aside);
        await symlink(join(folder.path, "evil"), vault);
        const handle = await real.open(path);
        assertEquals(await handle.readFile("utf8"), SECRET, "it is opened");
        if (isBack) {
          await rm(vault);
          await rename(aside, vault);
        }
        return handle;
      },
    };
    const fault = await assertRejects(
      () => openInSkill(root, "vault/x", disk),
      SkillFault,
    );
    assertEquals(fault.reason, "traversal");
  }
});

Deno.test("0.4 §6.6: a skill that is replaced meanwhile is read from its new place", async () => {
  await using folder = await scratch();
  const root = await skill(folder.path);
  let replaced = false;
  const disk = before(async () => {
    if (replaced) return;
    replaced = true;
    await writeFile(join(root, "new.md"), "the new entry");
    await rename(join(root, "new.md"), join(root, "SKILL.md"));
  });
  const { handle } = await openInSkill(root, "SKILL.md", disk);
  assertEquals(await handle.readFile("utf8"), "the new entry");
  await handle.close();
});

Deno.test("0.4 §6.6: a link that flips all the time never leads out", async () => {
  await using folder = await scratch();
  const root = await skill(folder.path);
  const flips = join(root, "flips.md");
  let isOver = false;
  const flip = async () => {
    for (let turn = 0; !isOver; turn++) {
      const draft = join(root, `draft-${turn}`);
      if (turn % 2 === 0) await writeFile(draft, "harmless");
      else await symlink(join(folder.path, "secret.txt"), draft);
      await rename(draft, flips);
    }
  };
  const flipping = flip();
  let given = 0;
  try {
    for (let read = 0; read < 2_000 || given === 0; read++) {
      const opened = await openInSkill(root, "flips.md").catch((error) => {
        assert(error instanceof SkillFault, String(error));
      });
      if (!opened) continue;
      assertEquals(await opened.handle.readFile("utf8"), "harmless");
      await opened.handle.close();
      given++;
    }
  } finally {
    isOver = true;
    await flipping;
  }
  assert(given > 0);
});
