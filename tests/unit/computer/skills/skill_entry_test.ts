import { Buffer } from "node:buffer";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { homedir } from "node:os";
import { join } from "node:path";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { BlobExchange, writeHandle } from "../../../../computer/blobs/blobs.ts";
import { defaultSkillHome } from "../../../../computer/cli/flags.ts";
import {
  bodyOffset,
  FRONT_MATTER_BYTES,
  isSkillName,
  readFrontMatter,
} from "../../../../computer/skills/skill_entry.ts";
import {
  isTextType,
  mediaTypeOf,
} from "../../../../computer/skills/skill_file.ts";
import {
  SKILL_KIND,
  skillBlobs,
  Skills,
} from "../../../../computer/skills/skills.ts";
import { ProtocolError } from "../../../../protocol/mod.ts";
import { isBundleId } from "../../../../protocol/validation.ts";
import { hostOf } from "../../../support/computer/host.ts";
import { skillText } from "../../../support/computer/skill_servers.ts";
import { scratch } from "../../../support/scratch.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const bodyOf = (text: string) =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(
    bytes(text).subarray(bodyOffset(bytes(text))),
  );
const read = (yaml: string) => readFrontMatter(bytes(`---\n${yaml}\n---\n`));

Deno.test("protocol §8.6: the body is everything after the second fence, with its line ends", () => {
  const rows: [text: string, body: string][] = [
    ["---\na: b\n---\n# T\r\n\nx", "# T\r\n\nx"],
    ["---\r\na: b\r\n---\r\n\r\nx\r\n", "\r\nx\r\n"],
    ["---\ndescription: ä€😀\n---\nä", "ä"],
    ["---\na: b\n---", ""],
    ["---\n---\n---\n", "---\n"],
    ["\ufeff---\na: b\n---\nx", "x"],
  ];
  for (const [text, body] of rows) assertEquals(bodyOf(text), body, text);
});

Deno.test("protocol §8.6: without both fences the whole file is the body", () => {
  const texts = [
    "",
    "# T\n---\na\n---\n",
    "---\na: b\n",
    "---\na: b\n --- \n",
    "----\na\n----\n",
    "--- x\na\n---\n",
    "\n---\na\n---\n",
    `---\n${"#".repeat(FRONT_MATTER_BYTES)}\n---\nx`, // too far away
  ];
  assertEquals(texts.map(bodyOf), texts);
});

Deno.test("readFrontMatter() reads what a skill tells of itself (protocol §8.6)", async () => {
  assertEquals(
    await read(
      `name: csv
description: Aggregates CSV files.
license: MIT
compatibility: bash
allowed-tools: Bash Read
tags: [data, csv]
metadata:
  author: me
  __proto__: { polluted: true }`,
    ),
    {
      name: "csv",
      fields: {
        description: "Aggregates CSV files.",
        license: "MIT",
        compatibility: "bash",
        allowed_tools: ["Bash Read"],
        tags: ["data", "csv"],
        skill_metadata: JSON.parse(
          `{"author": "me", "__proto__": {"polluted": true}}`,
        ),
      },
    },
  );
  assertEquals(Reflect.get({}, "polluted"), undefined);
  const { fields } = await read(
    "description: d\ntags: [a, 1]\nmetadata: text\nallowed-tools: [Read, 7]\nversion: 3",
  );
  assertEquals(
    fields,
    { description: "d", allowed_tools: ["Read", "7"] },
    "without tags and metadata of another form",
  );
});

Deno.test("readFrontMatter() says what is wrong", async () => {
  const cases: [string, string][] = [
    ["# no fences", "no front matter"],
    ["---\nname: a\n---\n", `no "description"`],
    [`---\ndescription: ""\n---\n`, `no "description"`],
    ["---\ndescription: [a]\n---\n", `no "description"`],
    ["---\nname: [a]\ndescription: d\n---\n", `"name"`],
    ["---\n- a\n---\n", "no fields"],
    ["---\n\n---\n", "no fields"],
    ["---\na: b: c\n---\n", "not YAML"],
    ["---\ndescription: &a [*a]\n---\n", "front matter"],
    ["---\nmetadata: &a { b: *a }\ndescription: d\n---\n", "not YAML"],
  ];
  for (const [text, part] of cases) {
    await assertRejects(() => readFrontMatter(bytes(text)), Error, part, text);
  }
});

Deno.test("readFrontMatter() is not blown up by aliases", async () => {
  const levels = Array.from(
    { length: 12 },
    (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`,
  );
  await assertRejects(
    () => read(`description: d\na0: &a0 [x]\n${levels.join("\n")}`),
    Error,
    "front matter",
  );
  // Few aliases, of much text.
  await assertRejects(
    () =>
      read(
        `description: d\na: &a "${"x".repeat(9_000)}"\nb: [${
          "*a,".repeat(20)
        }]`,
      ),
    Error,
    "longer than",
  );
});

Deno.test("isSkillName() takes names of one, two and three segments, and no other text (protocol §8.6)", () => {
  const longest = "a".repeat(64);
  const names = ["csv-tools", "mcp:x", "mcp:My_Fixture-2:csv", longest];
  const others = [
    ..."a:b:c a:b:c:d mcp:a:b:c a--b -a a- A ä a_b a/b ../a a: :a".split(" "),
    ..."mcp::a mcp:a.b:c mcp:a__b:c mcp:a/../b:c mcp:a:C :".split(" "),
    ...["", "Bad Name!!", "a\n", `${longest}a`, `mcp:x:${longest}a`],
  ];
  assertEquals([...names, ...others].filter(isSkillName), names);
});

Deno.test("isBundleId() takes what can be a folder and a segment", () => {
  const ids = ["a", "-", "A_b-1"];
  const others = ["", ".", "..", "a.b", "a:b", "a b", "__"];
  assertEquals([...ids, ...others].filter(isBundleId), ids);
});

Deno.test("the folder of skills is the one of other Computers of this user (protocol §8.6)", () => {
  const home = homedir();
  const rows: [env: Record<string, string>, folder: string][] = [
    [{ A2C_SKILL_HOME: "/a", XDG_DATA_HOME: "/x" }, "/a"],
    [{ A2C_SKILL_HOME: "~/mine" }, `${home}/mine`],
    [{ XDG_DATA_HOME: "/x" }, "/x/a2c/skills"],
    [
      { XDG_DATA_HOME: "relative", A2C_SKILL_HOME: "  " },
      `${home}/.a2c/skills`,
    ],
  ];
  for (const [env, folder] of rows) assertEquals(defaultSkillHome(env), folder);
});

const SECRET = "nobody may read this";

/** Parts that handles are made of, from innocent to hostile. */
const NAMES = ["forms", "other", "user", "..", "", "mcp:x:forms", "../forms"];
const PIECES = [
  ..."SKILL.md data a.bin .. . .skillenv .SkillEnv link up etc".split(" "),
  ..."passwd secret.txt \\ C: \0 %2e%2e".split(" "),
  "",
];

Deno.test("protocol §8.7: 10,000 mutated handles of a skill read nothing but its files", async () => {
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
  await using host = hostOf({});
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

Deno.test("protocol §8.6: types by extension are those of every SDK", () => {
  const types: Record<string, string> = {
    "text/markdown": "SKILL.md a/b.MARKDOWN ..md",
    "text/plain": "a.txt",
    "application/json": "a.json",
    "application/xml": "a.xml",
    "application/yaml": "a.yaml a.yml",
    "application/toml": "a.toml",
    "text/x-rst": "a.rst",
    "image/png": "a.png",
    "image/jpeg": "a.jpg a.jpeg",
    "image/gif": "a.gif",
    "image/webp": "a.webp",
    "image/bmp": "a.bmp",
    "image/vnd.microsoft.icon": "a.ico",
    "image/svg+xml": "a.svg",
    "application/pdf": "a.pdf",
    "application/zip": "a.zip",
    "application/gzip": "a.tar.gz",
    "application/x-tar": "a.tar",
    "application/wasm": "a.wasm",
    "font/woff": "a.woff",
    "font/woff2": "a.woff2",
    "font/ttf": "a.ttf",
    "font/otf": "a.otf",
    "audio/mpeg": "a.mp3",
    "audio/wav": "a.wav",
    "video/mp4": "a.mp4",
    "video/webm": "a.webm",
    [UNKNOWN]: ".md x/.md a. md a.md/b run.sh a.py a.js a.html",
  };
  for (const [type, names] of Object.entries(types)) {
    for (const name of names.split(" ")) {
      assertEquals(mediaTypeOf(name), type, name);
    }
  }
});

Deno.test("protocol §8.6: which types are text", () => {
  const texts = [
    ..."text/markdown image/svg+xml application/ld+json application/json".split(
      " ",
    ),
    ..."application/xml application/yaml application/x-yaml".split(" "),
    ..."application/toml application/javascript".split(" "),
    "TEXT/PLAIN; charset=utf-8",
    "application/openapi+yaml; v=3",
  ];
  const others = [
    "image/png",
    UNKNOWN,
    "application/pdf",
    "",
    "application/jsonx",
  ];
  assertEquals([...texts, ...others].filter(isTextType), texts);
});
