import { assert, assertEquals, assertRejects } from "@std/assert";
import { createHash } from "node:crypto";
import {
  mkdir,
  readdir,
  readFile,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { openSkillFile } from "../../../../computer/skills/skill_file.ts";
import type { SkillServer } from "../../../../computer/skills/fetch_skill.ts";
import {
  removeUnfinished,
  Replacing,
  stageSkill,
} from "../../../../computer/skills/stage_skill.ts";
import {
  isSkillUri,
  pathBelow,
  type SkillRoot,
  skillRoots,
} from "../../../../computer/skills/skill_roots.ts";
import { ownerMark } from "../../../../computer/util/processes.ts";
import { scratch } from "../../../support/scratch.ts";
import { zipOf } from "../../../support/computer/zip.ts";

const ENTRY = "---\nname: csv\ndescription: Reads CSV.\n---\n# CSV\n";
const ROOT = "skill://fixture/csv";

/** A skill whose files are resources. */
const resources = (...files: string[]): SkillRoot => ({
  uri: ROOT,
  source: { kind: "resources" },
  version: undefined,
  files,
  state: "",
});

/** An MCP server with texts by URI. */
const server = (
  texts: Record<string, string | Uint8Array> = {},
  isLocal = true,
): SkillServer => ({
  isLocal,
  connection: {
    readResource: (uri) => {
      const content = texts[uri];
      return Promise.resolve(
        content === undefined
          ? []
          : typeof content === "string"
          ? [{ uri, text: content }]
          : [{ uri, blob: content.toBase64() }],
      );
    },
  },
});

const replacing = new Replacing();

const stage = (
  folder: string,
  root: SkillRoot,
  from: SkillServer,
  taken: string[] = [],
) =>
  stageSkill(
    root,
    from,
    {
      folder: join(folder, "mcp"),
      server: "fix",
      replacing,
      isTaken: (skill) => taken.includes(skill),
    },
    new AbortController().signal,
  );

Deno.test("skillRoots() finds skills and their files (protocol §8.6)", () => {
  const archive = { source: "archive", archive_uri: "http://h/z" };
  const rows: [uri: unknown, meta?: Record<string, unknown>][] = [
    ["skill://h/a", { source: "resources", version: 2 }],
    ["skill://h/a/SKILL.md"],
    ["skill://h/a/b/x.md", { source: "resources" }],
    ["skill://h/ab/SKILL.md"],
    ["skill://h/a", { source: "mounted" }],
    ["skill://h/plain"],
    ["skill://h/odd", { source: "elsewhere" }],
    ["window://h/a", { source: "resources" }],
    ["skill://h", { source: "resources" }],
    ["skill://h/", { source: "resources" }],
    ["skill:///a", { source: "resources" }],
    [
      "skill://h/m",
      { source: "mounted", mount_dir: "/srv/m", version: "1.0" },
    ],
    ["skill://h/m2", { source: "mounted" }],
    [
      "skill://h/z",
      { ...archive, archive_format: "zip", archive_sha256: "AB".repeat(32) },
    ],
    ["skill://h/z2", archive],
    [7, { source: "resources" }],
  ];
  const roots = skillRoots(
    rows.map(([uri, _meta]) => ({
      uri: uri as string,
      ...(_meta && { _meta }),
    })),
  );
  const sha256 = "ab".repeat(32);
  const invalid = (problem: string) => ({
    kind: "invalid",
    problem: `its _meta: ${problem}`,
  });
  assertEquals<unknown>(
    roots.map((
      { uri, source, version, files },
    ) => [uri, source, version, files]),
    [
      ["skill://h/a", { kind: "resources" }, "2", [
        "skill://h/a/SKILL.md",
        "skill://h/a/b/x.md",
      ]],
      ["skill://h/m", { kind: "mounted", folder: "/srv/m" }, "1.0", []],
      ["skill://h/m2", invalid('"mount_dir" is not a text'), undefined, []],
      [
        "skill://h/z",
        { kind: "archive", uri: "http://h/z", format: "zip", sha256 },
        undefined,
        [],
      ],
      [
        "skill://h/z2",
        invalid('"archive_format" is neither "tar.gz" nor "zip"'),
        undefined,
        [],
      ],
    ],
  );
  assertEquals(isSkillUri("skill://h/a?x"), false);
  assertEquals(isSkillUri(`skill://h/${"a/".repeat(5_000)}b`), false);
  assertEquals(pathBelow("skill://h/a", "skill://h/a/%C3%A4/b.md"), "ä/b.md");
  assertEquals(
    pathBelow("skill://h/a", "skill://h/a/..%2f..%2fb"),
    "..%2f..%2fb",
  );
});

Deno.test("skillRoots() takes a list of 200,000 files in its stride", () => {
  const file = (at: number) => ({
    uri: `skill://h/a/${at}/${"b/".repeat(9)}c`,
  });
  const [root] = skillRoots([
    { uri: "skill://h/a", _meta: { source: "resources" } },
    ...Array.from({ length: 200_000 }, (_, at) => file(at)),
  ]);
  assertEquals(root?.files.length, 200_000);
});

Deno.test("protocol §8.6: a skill of resources is staged under its own name, for this user alone", async () => {
  await using folder = await scratch();
  const image = crypto.getRandomValues(new Uint8Array(500));
  const ref = await stage(
    folder.path,
    {
      ...resources(`${ROOT}/SKILL.md`, `${ROOT}/assets/logo.png`),
      version: "1.2",
    },
    server({ [`${ROOT}/SKILL.md`]: ENTRY, [`${ROOT}/assets/logo.png`]: image }),
  );
  const path = join(folder.path, "mcp", "fix", "csv");
  assertEquals(ref, {
    name: "mcp:fix:csv",
    source: "mcp:fix",
    uri: ROOT,
    path,
    description: "Reads CSV.",
    version: "1.2",
  });
  assertEquals(await readFile(join(path, "SKILL.md"), "utf8"), ENTRY);
  assertEquals(
    new Uint8Array(await readFile(join(path, "assets", "logo.png"))),
    image,
  );
  const modeOf = async (part: string) =>
    (await stat(join(folder.path, part))).mode & 0o777;
  for (const part of ["mcp", "mcp/fix", "mcp/fix/csv"]) {
    assertEquals(await modeOf(part), 0o700, part);
  }
  assertEquals(await readdir(join(folder.path, "mcp", ".staging")), []);
});

Deno.test("protocol §8.6: staging again replaces all files; a failure leaves them as they were", async () => {
  await using folder = await scratch();
  const entry = `${ROOT}/SKILL.md`;
  const old = `${ROOT}/old.md`;
  const texts = { [entry]: ENTRY, [old]: "old" };
  await stage(folder.path, resources(entry, old), server(texts));
  const list = () => readdir(join(folder.path, "mcp", "fix", "csv"));
  assertEquals((await list()).toSorted(), ["SKILL.md", "old.md"]);
  await assertRejects(
    () => stage(folder.path, resources(entry), server({ [entry]: "none" })),
    Error,
    "no front matter",
  );
  assertEquals((await list()).toSorted(), ["SKILL.md", "old.md"]);
  await stage(folder.path, resources(entry), server(texts));
  assertEquals(await list(), ["SKILL.md"]);
  assertEquals(await readdir(join(folder.path, "mcp", ".staging")), []);
});

Deno.test("protocol §8.6: whoever reads a skill finds it, also while it is replaced", async () => {
  await using folder = await scratch();
  const entry = `${ROOT}/SKILL.md`;
  const texts = { [entry]: ENTRY };
  const stageAgain = () => stage(folder.path, resources(entry), server(texts));
  const { path } = await stageAgain();
  let isOver = false;
  const read = async () => {
    let times = 0;
    for (; !isOver; times++) {
      const file = await replacing.read(() => openSkillFile(path, undefined));
      await file.close();
    }
    return times;
  };
  const replaceOften = async () => {
    try {
      for (let time = 0; time < 100; time++) await stageAgain();
    } finally {
      isOver = true;
    }
  };
  const [one, other] = await Promise.all([read(), read(), replaceOften()]);
  assert(one > 0 && other > 0, `${one}, ${other}`);
});

Deno.test("protocol §8.6: a replacement that begins as a reader begins is waited for", async () => {
  const replacing = new Replacing();
  const { promise: isMade, resolve: make } = Promise.withResolvers<void>();
  let isThere = true;
  const reading = replacing.read(() =>
    isThere ? Promise.resolve("it") : Promise.reject(new Error("not there"))
  );
  const replaced = replacing.write(async () => {
    isThere = false;
    await isMade;
    isThere = true;
  });
  make();
  assertEquals(await reading, "it");
  await replaced;
});

Deno.test("protocol §8.6: a skill that is none, or leads out, is not staged", async () => {
  await using folder = await scratch();
  const named = (name: string) =>
    `---\nname: ${JSON.stringify(name)}\ndescription: d\n---\n`;
  const cases: [files: Record<string, string>, part: string][] = [
    [{}, "no SKILL.md"],
    [{ "a.md": "a" }, "no SKILL.md"],
    [{ "SKILL.md": named("Bad Name") }, "its name"],
    [{ "SKILL.md": named("../../evil") }, "its name"],
    [{ "SKILL.md": named("taken") }, "another skill"],
    [{ "SKILL.md": "---\ndescription: d\n---\n" }, `no "name"`],
    ...[
      "../../evil",
      "%2e%2e/%2e%2e/evil",
      "/etc/evil",
      "..%5Cevil",
      "C:/evil",
    ].map((path): [Record<string, string>, string] => [
      { "SKILL.md": ENTRY, [path]: "evil" },
      "outside of it",
    ]),
  ];
  for (const [files, part] of cases) {
    const texts = Object.fromEntries(
      Object.entries(files).map(([path, text]) => [`${ROOT}/${path}`, text]),
    );
    const root = resources(...Object.keys(texts));
    await assertRejects(
      () => stage(folder.path, root, server(texts), ["taken"]),
      Error,
      part,
    );
  }
  assertEquals(await readdir(folder.path), ["mcp"]);
  assertEquals(await readdir(join(folder.path, "mcp")), [".staging"]);
});

Deno.test("protocol §8.6: a mounted skill is copied, without what lies outside and without secrets", async () => {
  await using folder = await scratch();
  const mounted = join(folder.path, "mounted");
  await mkdir(join(mounted, "scripts"), { recursive: true });
  await writeFile(join(mounted, "SKILL.md"), ENTRY);
  await writeFile(join(mounted, "scripts", "run.sh"), "#!", { mode: 0o755 });
  await writeFile(join(mounted, ".skillenv"), "KEY=secret");
  await writeFile(join(folder.path, "secret.txt"), "secret");
  await symlink("../secret.txt", join(mounted, "secret.md"));
  await symlink(folder.path, join(mounted, "up"));
  await symlink("SKILL.md", join(mounted, "also.md"));
  const root: SkillRoot = {
    ...resources(),
    source: { kind: "mounted", folder: mounted },
  };
  const { path } = await stage(folder.path, root, server());
  assertEquals(
    (await readdir(path, { recursive: true })).toSorted(),
    ["SKILL.md", "also.md", "scripts", "scripts/run.sh"],
  );
  assertEquals(await readFile(join(path, "also.md"), "utf8"), ENTRY);
  const { mode } = await stat(join(path, "scripts", "run.sh"));
  assertEquals(mode & 0o777, 0o700);
  await assertRejects(
    () => stage(folder.path, root, server({}, false)),
    Error,
    "not on this machine",
  );
  for (const source of [folder.path, "mounted", join(mounted, "SKILL.md")]) {
    await assertRejects(() =>
      stage(folder.path, {
        ...root,
        source: { kind: "mounted", folder: source },
      }, server())
    );
  }
});

Deno.test("protocol §8.6: an archive is downloaded, checked and unpacked", async () => {
  await using folder = await scratch();
  const zip = zipOf({ name: "SKILL.md", data: ENTRY });
  const hits: string[] = [];
  await using http = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => {
      const { pathname } = new URL(request.url);
      hits.push(pathname);
      if (pathname === "/csv.zip") return new Response(zip);
      if (pathname === "/huge") {
        const pieces = Array(100).fill(new Uint8Array(2 ** 20));
        return new Response(ReadableStream.from(pieces));
      }
      return new Response("nothing", { status: 404 });
    },
  );
  const { port } = http.addr;
  const archive = (path: string, sha256?: string): SkillRoot => ({
    ...resources(),
    source: {
      kind: "archive",
      uri: path.includes(":") ? path : `http://127.0.0.1:${port}/${path}`,
      format: "zip",
      sha256,
    },
  });
  const sha256 = createHash("sha256").update(zip).digest("hex");
  const { name, path } = await stage(
    folder.path,
    archive("csv.zip", sha256),
    server(),
  );
  assertEquals(name, "mcp:fix:csv");
  assertEquals(await readdir(path), ["SKILL.md"]);
  const cases: [SkillRoot, string][] = [
    [archive("csv.zip", "0".repeat(64)), "SHA-256"],
    [archive("gone.zip"), "HTTP 404"],
    [archive("huge"), "larger than 67108864 bytes"],
    [archive("file:///etc/passwd"), "not http or https"],
    [archive("data:application/zip;base64,AAAA"), "not http or https"],
  ];
  for (const [root, part] of cases) {
    await assertRejects(() => stage(folder.path, root, server()), Error, part);
  }
  assert(hits.includes("/huge"));
});

Deno.test("protocol §8.6: what a killed Computer left unfinished is removed, what runs is not", async () => {
  await using folder = await scratch();
  const workshop = join(folder.path, ".staging");
  const gone = new Deno.Command("true").spawn();
  await gone.status;
  const mine = ownerMark();
  const left = mine.replace(`-${Deno.pid}-`, `-${gone.pid}-`);
  assert(left !== mine);
  for (const mark of [mine, left]) {
    await mkdir(join(workshop, `${mark}.draft`, "scripts"), {
      recursive: true,
    });
  }
  await removeUnfinished(folder.path);
  assertEquals(await readdir(workshop), [`${mine}.draft`]);
  await removeUnfinished(join(folder.path, "nothing"));
});
