import { Buffer } from "node:buffer";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { constants } from "node:fs";
import { gzipSync } from "node:zlib";
import { join } from "node:path";
import {
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { packTar, type TarEntry } from "modern-tar";
import {
  unpackTarGz,
  unpackZip,
} from "../../../../computer/skills/archives.ts";
import {
  type Disk,
  openInSkill,
  SkillFault,
} from "../../../../computer/skills/sandbox.ts";
import {
  STAGING_LIMITS,
  StagingFolder,
  type StagingLimits,
} from "../../../../computer/skills/staging_folder.ts";
import type { SkillReason } from "../../../../protocol/errors.ts";
import { zipOf } from "../../../support/computer/zip.ts";
import { scratch } from "../../../support/scratch.ts";

const LIMITS: StagingLimits = {
  bytes: 100_000,
  members: 20,
  packedBytes: 1_000_000,
};

type Unpack = typeof unpackZip;

/** Unpacks into a folder of its own, beside which nothing may appear. */
async function tryOut(
  unpack: Unpack,
  data: Uint8Array,
  check: (folder: string) => Promise<void>,
  limits = LIMITS,
): Promise<void> {
  await using parent = await scratch();
  const path = join(parent.path, "skill");
  await mkdir(path);
  try {
    await unpack(data, new StagingFolder(path, limits));
    await check(path);
  } finally {
    assertEquals(await readdir(parent.path), ["skill"]);
  }
}

const refuses = (unpack: Unpack, data: Uint8Array, part: string) =>
  assertRejects(() => tryOut(unpack, data, async () => {}), Error, part);

const tar = async (...entries: TarEntry[]) => gzipSync(await packTar(entries));
const file = (name: string, body: string): TarEntry => ({
  header: { name, size: Buffer.byteLength(body), type: "file" },
  body,
});

const HOSTILE_NAMES = [
  ..."../evil a/../../evil a/.. /tmp/evil ..\\evil a\\evil C:/evil a:b".split(
    " ",
  ),
];

Deno.test("protocol §8.6: a tar.gz is unpacked, for this user alone", async () => {
  const long = `${"deep/".repeat(30)}${"n".repeat(90)}.md`;
  const data = await tar(
    { header: { name: "./", size: 0, type: "directory" } },
    file("./SKILL.md", "the entry"),
    { header: { name: "scripts/", size: 0, type: "directory" } },
    {
      header: { name: "scripts/run.sh", size: 2, mode: 0o4755, type: "file" },
      body: "#!",
    },
    file(long, "long"),
  );
  await tryOut(unpackTarGz, data, async (folder) => {
    const text = (name: string) => readFile(join(folder, name), "utf8");
    assertEquals(await text("SKILL.md"), "the entry");
    assertEquals(await text(long), "long");
    const mode = async (name: string) =>
      (await stat(join(folder, name))).mode & 0o7777;
    assertEquals(await mode("SKILL.md"), 0o600);
    assertEquals(await mode("scripts/run.sh"), 0o700);
    assertEquals(await mode("scripts"), 0o700);
  });
});

Deno.test("protocol §8.6: archives of the programs tar and zip are unpacked", async () => {
  await using from = await scratch();
  await mkdir(join(from.path, "references"));
  await writeFile(join(from.path, "SKILL.md"), "the entry");
  await writeFile(join(from.path, "references", "ä.md"), "umlaut");
  const { code, stdout } = await new Deno.Command("tar", {
    args: ["-C", from.path, "-czf", "-", "."],
  }).output();
  assertEquals(code, 0);
  await tryOut(unpackTarGz, stdout, async (folder) => {
    const text = await readFile(join(folder, "references", "ä.md"), "utf8");
    assertEquals(text, "umlaut");
  });
});

Deno.test("protocol §8.6: a zip is unpacked, for this user alone", async () => {
  const data = zipOf(
    { name: "SKILL.md", data: "the entry" },
    { name: "scripts/", data: "", mode: 0o40755 },
    { name: "scripts/run.sh", data: "#!".repeat(500), mode: 0o100755 },
  );
  await tryOut(unpackZip, data, async (folder) => {
    const path = join(folder, "scripts", "run.sh");
    assertEquals((await readFile(path, "utf8")).length, 1_000);
    assertEquals((await stat(path)).mode & 0o7777, 0o700);
  });
});

Deno.test("protocol §8.6: archives with names that lead out are refused", async () => {
  for (const name of HOSTILE_NAMES) {
    await refuses(unpackTarGz, await tar(file(name, "evil")), "outside of it");
    await assertRejects(
      () => tryOut(unpackZip, zipOf({ name, data: "evil" }), async () => {}),
      Error,
      undefined,
      name,
    );
  }
});

Deno.test("protocol §8.6: archives with links and devices are refused", async () => {
  for (const type of ["symlink", "link", "fifo", "character-device"] as const) {
    const data = await tar(
      { header: { name: "a", size: 0, type, linkname: "/etc/passwd" } },
      file("a/b", "through the link"),
    );
    await refuses(unpackTarGz, data, `it has a ${type}`);
  }
  const link = zipOf({ name: "a", data: "/etc/passwd", mode: 0o120777 });
  await refuses(unpackZip, link, "it has a link");
});

Deno.test("protocol §8.6: bombs are refused before they fill the disk", async () => {
  const zeros = "\0".repeat(10_000_000);
  const tarBomb = await tar(file("big", zeros));
  const zipBomb = zipOf({ name: "big", data: zeros });
  assert(tarBomb.length < 20_000 && zipBomb.length < 20_000);
  await refuses(unpackTarGz, tarBomb, "larger than");
  await refuses(unpackZip, zipBomb, "larger than");
  // One that claims to be small.
  const liar = zipOf({ name: "big", data: zeros, claimedSize: 10 });
  await assertRejects(() => tryOut(unpackZip, liar, async () => {}), Error);
  // Many small files together, and many of nothing.
  const many = (count: number, text: string) =>
    tar(...Array.from({ length: count }, (_, i) => file(`file-${i}`, text)));
  await refuses(unpackTarGz, await many(11, "x".repeat(10_000)), "larger than");
  await refuses(unpackTarGz, await many(21, ""), "more than 20 files");
  const empty = Array.from(
    { length: 21 },
    (_, i) => ({ name: `file-${i}`, data: "" }),
  );
  await refuses(unpackZip, zipOf(...empty), "more than 20 files");
  assertEquals(STAGING_LIMITS, {
    bytes: 256 * 2 ** 20,
    members: 10_000,
    packedBytes: 64 * 2 ** 20,
  });
  // Headers without files are one, too.
  await refuses(unpackTarGz, gzipSync(Buffer.alloc(20_000_000)), "");
});

Deno.test("protocol §8.6: damaged archives are refused", async () => {
  const good = await tar(file("SKILL.md", "x".repeat(2_000)));
  const zip = zipOf({ name: "SKILL.md", data: "y".repeat(2_000) });
  const broken: [Unpack, Uint8Array][] = [
    [unpackTarGz, good.subarray(0, good.length - 12)],
    [unpackTarGz, Buffer.from("no archive")],
    [unpackTarGz, gzipSync("no archive".repeat(100))],
    [unpackZip, zip.subarray(0, zip.length - 12)],
    [unpackZip, Buffer.from("no archive")],
  ];
  for (const [unpack, data] of broken) await refuses(unpack, data, "");
  const damaged = Buffer.from(zip);
  const checksum = zip.indexOf("PK\x01\x02", 0, "latin1") + 16;
  damaged[checksum] = (damaged[checksum] ?? 0) ^ 0xff;
  await refuses(unpackZip, damaged, "it is damaged");
  const packed = Buffer.from(zip).fill(0xff, 30 + "SKILL.md".length, 50);
  await refuses(unpackZip, packed, "invalid");
});

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

/** Paths that are refused, by the reason. */
const HOSTILE: Partial<Record<SkillReason, readonly string[]>> = {
  traversal: [
    ..."../secret.txt ../../secret.txt ../csv-other/SKILL.md ..".split(" "),
    ..."references/../../csv-other/SKILL.md references/../SKILL.md".split(" "),
    ..."references/.. ./../csv/SKILL.md /etc/passwd //etc/passwd /".split(" "),
    ..."\\etc\\passwd ..\\secret.txt references\\a.md C:secret.txt".split(" "),
    ..."C:/Windows/win.ini SKILL.md:stream SKILL.md::$DATA".split(" "),
    ..."file:///etc/passwd SKILL.md\0.png \0".split(" "),
    // Links that lead out.
    ..."outer.md references/up.md outside/secret.txt sibling".split(" "),
    ..."everything/etc/passwd everything/proc/self/environ".split(" "),
    "sibling/SKILL.md",
  ],
  forbidden: [
    ...".skillenv .SKILLENV .skillEnv. .skillenv/x ./.skillenv".split(" "),
    ..."references/.skillenv nowhere/.skillenv env.md env2.md".split(" "),
    ..."hard.md .\u017fkillenv \uff0eskillenv".split(" "),
    ".skillenv .",
  ],
  not_found: [
    ..."nope.md folder.md . references references/ SKILL.md/x".split(" "),
    ..."loop-a dangling pipe.md %2e%2e/secret.txt ..%2fsecret.txt".split(" "),
    "x".repeat(4096),
    `${"references/./".repeat(300)}nope`,
  ],
};

Deno.test("protocol §8.6: the sandbox refuses hostile paths, each for its reason", async () => {
  await using folder = await scratch();
  const root = await skill(folder.path);
  for (const [reason, paths] of Object.entries(HOSTILE)) {
    for (const path of paths) {
      const fault = await assertRejects(
        () => openInSkill(root, path),
        SkillFault,
        undefined,
        path,
      );
      assertEquals(fault.reason, reason, path);
    }
  }
  assertEquals(Object.values(HOSTILE).flat().length, 54);
});

Deno.test("protocol §8.6: the sandbox opens what is inside, by links within too", async () => {
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

Deno.test("protocol §8.6: a link that is put in the file's place after the check is not followed", async () => {
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

Deno.test("protocol §8.6: a link in a folder's place is noticed, even when the folder is back at once", async () => {
  for (const isBack of [false, true]) {
    await using folder = await scratch();
    const root = await skill(folder.path);
    await mkdir(join(folder.path, "evil"));
    await writeFile(join(folder.path, "evil", "x"), SECRET);
    const vault = join(root, "vault");
    const aside = join(root, "aside");
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

Deno.test("protocol §8.6: a skill that is replaced meanwhile is read from its new place", async () => {
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

Deno.test("protocol §8.6: a link that flips all the time never leads out", async () => {
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
