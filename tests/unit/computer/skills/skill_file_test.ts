import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BlobExchange, writeHandle } from "../../../../computer/blobs/blobs.ts";
import { McpHost } from "../../../../computer/host/host.ts";
import {
  SKILL_KIND,
  skillBlobs,
  Skills,
} from "../../../../computer/skills/skills.ts";
import { ProtocolError } from "../../../../protocol/mod.ts";
import { skillText } from "../../../support/computer/skill_servers.ts";
import { scratch } from "../../../support/scratch.ts";
import {
  isTextType,
  mediaTypeOf,
} from "../../../../computer/skills/skill_file.ts";

const SECRET = "nobody may read this";

/** Parts that handles are made of, from innocent to hostile. */
const NAMES = ["forms", "other", "user", "..", "", "mcp:x:forms", "../forms"];
const PIECES = [
  "SKILL.md",
  "data",
  "a.bin",
  "..",
  ".",
  "",
  ".skillenv",
  ".SkillEnv",
  "link",
  "up",
  "etc",
  "passwd",
  "secret.txt",
  "\\",
  "C:",
  "\0",
  "%2e%2e",
];

Deno.test("0.4 §7.1: 10,000 mutated handles of a skill read nothing but its files", async () => {
  await using home = await scratch();
  const folder = join(home.path, "user", "forms");
  await mkdir(join(folder, "data"), { recursive: true });
  await writeFile(join(folder, "SKILL.md"), skillText("forms", "Forms."));
  await writeFile(join(folder, "data", "a.bin"), "given out");
  await writeFile(join(folder, ".skillenv"), SECRET);
  await writeFile(join(home.path, "secret.txt"), SECRET);
  await writeFile(join(home.path, "user", "secret.txt"), SECRET);
  await symlink(join(home.path, "secret.txt"), join(folder, "link"));
  await symlink("../..", join(folder, "data", "up"));
  await using host = new McpHost([]);
  const skills = new Skills({ home: home.path, host, changed: () => {} });
  const blobs = new BlobExchange({});
  blobs.resolves(SKILL_KIND, skillBlobs(skills));

  const read = async (handle: string): Promise<string | undefined> => {
    try {
      const source = await blobs.resolve(handle);
      return Buffer.from(await source.read(0, source.size)).toString();
    } catch (error) {
      assert(error instanceof ProtocolError && error.code === 4018, `${error}`);
    }
  };
  try {
    await skills.list();
    const given = { kind: SKILL_KIND, name: "forms", path: "data/a.bin" };
    const handle = writeHandle(given);
    assertEquals(await read(handle), "given out");
    let seed = 1;
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    const pick = <T>(from: readonly T[]): T => from[random(from.length)] as T;
    const allowed = [undefined, "given out", "# forms\n"];
    for (let turn = 0; turn < 10_000; turn++) {
      const bytes = Buffer.from(handle);
      bytes[random(bytes.length)] = random(256);
      const path = Array.from({ length: 1 + random(5) }, () => pick(PIECES));
      const mutated = turn % 2 === 0 ? bytes.toString("latin1") : writeHandle({
        kind: SKILL_KIND,
        name: random(3) === 0 ? pick(NAMES) : "forms",
        path: (random(5) === 0 ? "/" : "") + path.join("/"),
      });
      const found = await read(mutated);
      assert(allowed.includes(found), `${mutated}: ${found}`);
    }
  } finally {
    await skills.close();
  }
});

const UNKNOWN = "application/octet-stream";

Deno.test("0.4 §6.7: types by extension are those of every SDK", () => {
  const table: Record<string, string> = {
    "SKILL.md": "text/markdown",
    "a/b.MARKDOWN": "text/markdown",
    "a.txt": "text/plain",
    "a.json": "application/json",
    "a.xml": "application/xml",
    "a.yaml": "application/yaml",
    "a.yml": "application/yaml",
    "a.toml": "application/toml",
    "a.rst": "text/x-rst",
    "a.png": "image/png",
    "a.jpg": "image/jpeg",
    "a.jpeg": "image/jpeg",
    "a.gif": "image/gif",
    "a.webp": "image/webp",
    "a.bmp": "image/bmp",
    "a.ico": "image/vnd.microsoft.icon",
    "a.svg": "image/svg+xml",
    "a.pdf": "application/pdf",
    "a.zip": "application/zip",
    "a.tar.gz": "application/gzip",
    "a.tar": "application/x-tar",
    "a.wasm": "application/wasm",
    "a.woff": "font/woff",
    "a.woff2": "font/woff2",
    "a.ttf": "font/ttf",
    "a.otf": "font/otf",
    "a.mp3": "audio/mpeg",
    "a.wav": "audio/wav",
    "a.mp4": "video/mp4",
    "a.webm": "video/webm",
    "..md": "text/markdown",
    ".md": UNKNOWN,
    "x/.md": UNKNOWN,
    "a.": UNKNOWN,
    "md": UNKNOWN,
    "a.md/b": UNKNOWN,
    "run.sh": UNKNOWN,
    "a.py": UNKNOWN,
    "a.js": UNKNOWN,
    "a.html": UNKNOWN,
  };
  for (const [name, type] of Object.entries(table)) {
    assertEquals(mediaTypeOf(name), type, name);
  }
});

Deno.test("0.4 §6.7: which types are text", () => {
  for (
    const type of [
      "text/markdown",
      "TEXT/PLAIN; charset=utf-8",
      "image/svg+xml",
      "application/ld+json",
      "application/openapi+yaml; v=3",
      "application/json",
      "application/xml",
      "application/yaml",
      "application/x-yaml",
      "application/toml",
      "application/javascript",
    ]
  ) assertEquals(isTextType(type), true, type);
  for (
    const type of [
      "image/png",
      UNKNOWN,
      "application/pdf",
      "",
      "application/jsonx",
    ]
  ) assertEquals(isTextType(type), false, type);
});
