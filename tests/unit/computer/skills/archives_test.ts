import { assert, assertEquals, assertRejects } from "@std/assert";
import { Buffer } from "node:buffer";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { packTar, type TarEntry } from "modern-tar";
import {
  STAGING_LIMITS,
  StagingFolder,
  type StagingLimits,
} from "../../../../computer/skills/staging_folder.ts";
import {
  unpackTarGz,
  unpackZip,
} from "../../../../computer/skills/archives.ts";
import { scratch } from "../../../support/scratch.ts";
import { zipOf } from "../../../support/computer/zip.ts";

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
  "../evil",
  "a/../../evil",
  "a/..",
  "/tmp/evil",
  "..\\evil",
  "a\\evil",
  "C:/evil",
  "a:b",
];

Deno.test("0.4 §6.4: a tar.gz is unpacked, for this user alone", async () => {
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

Deno.test("0.4 §6.4: archives of the programs tar and zip are unpacked", async () => {
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

Deno.test("0.4 §6.4: a zip is unpacked, for this user alone", async () => {
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

Deno.test("0.4 §6.4: archives with names that lead out are refused", async () => {
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

Deno.test("0.4 §6.4: archives with links and devices are refused", async () => {
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

Deno.test("0.4 §6.4: bombs are refused before they fill the disk", async () => {
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
  const many = Array.from({ length: 11 }, (_, i) => `file-${i}`);
  const part = "x".repeat(10_000);
  await refuses(
    unpackTarGz,
    await tar(...many.map((name) => file(name, part))),
    "larger than",
  );
  const more = Array.from({ length: 21 }, (_, i) => `file-${i}`);
  await refuses(
    unpackTarGz,
    await tar(...more.map((name) => file(name, ""))),
    "more than 20 files",
  );
  await refuses(
    unpackZip,
    zipOf(...more.map((name) => ({ name, data: "" }))),
    "more than 20 files",
  );
  assertEquals(STAGING_LIMITS, {
    bytes: 256 * 2 ** 20,
    members: 10_000,
    packedBytes: 64 * 2 ** 20,
  });
});

Deno.test("0.4 §6.4: headers without files are a bomb too", async () => {
  const headers = Buffer.alloc(20_000_000);
  await refuses(unpackTarGz, gzipSync(headers), "");
});

Deno.test("0.4 §6.4: damaged archives are refused", async () => {
  const good = await tar(file("SKILL.md", "x".repeat(2_000)));
  await refuses(unpackTarGz, good.subarray(0, good.length - 12), "");
  await refuses(unpackTarGz, Buffer.from("no archive"), "");
  await refuses(unpackTarGz, gzipSync("no archive".repeat(100)), "");
  const zip = zipOf({ name: "SKILL.md", data: "y".repeat(2_000) });
  await refuses(unpackZip, zip.subarray(0, zip.length - 12), "");
  await refuses(unpackZip, Buffer.from("no archive"), "");
  const damaged = Buffer.from(zip);
  const checksum = zip.indexOf("PK\x01\x02", 0, "latin1") + 16;
  damaged[checksum] = (damaged[checksum] ?? 0) ^ 0xff;
  await refuses(unpackZip, damaged, "it is damaged");
});
