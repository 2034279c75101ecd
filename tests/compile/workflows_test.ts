import { assertEquals, assertMatch } from "@std/assert";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import config from "../../deno.json" with { type: "json" };
import { TARGETS } from "../../tools/binaries/binaries.ts";
import { run } from "../../tools/process.ts";
import { ACTIONLINT, check, findActionlint } from "./checkers.ts";

/** What is read of a job. */
interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: {
    readonly matrix: { readonly include?: readonly { target: string }[] };
  };
}

/** What is read of a workflow. */
interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string) =>
  Deno.readTextFile(new URL(file, `file://${root}`));

const FILES = ["ci", "release", "weekly"]
  .map((name) => `.github/workflows/${name}.yml`);
const texts = await Promise.all(FILES.map(read));
const [ci, release] = texts.map((text): Workflow => parse(text));
const all = texts.join("\n");

const actionlint = await findActionlint();
if (actionlint === undefined) {
  console.log("SKIPPED: there is no Go that builds actionlint");
}

Deno.test({
  name: "actionlint has no complaint about the workflows",
  ignore: actionlint === undefined,
  fn: async () => {
    assertEquals(await run(actionlint ?? "", FILES, root), "");
  },
});

Deno.test("the workflows are valid by GitHub's schema", async () => {
  const schema = ["--builtin-schema", "vendor.github-workflows"];
  assertMatch(await check("check-jsonschema", [...schema, ...FILES]), /^ok/);
});

Deno.test("each action is pinned to a commit, the same everywhere, and a comment names its release", () => {
  const uses = [...all.matchAll(/^ +(?:- )?uses: (.+)$/gm)]
    .map(([, use = ""]) => use)
    .filter((use) => !use.startsWith("./"));
  const loose = uses.filter((use) =>
    !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(use)
  );
  assertEquals(loose, []);
  const names = new Set(uses.map((use) => use.split("@")[0]));
  assertEquals(new Set(uses).size, names.size);
});

Deno.test("a job may write only what it publishes, and none has a secret", () => {
  assertEquals(all.match(/secrets\b/g), null);
  assertEquals(ci?.permissions, { contents: "read" });
  assertEquals(release?.permissions, {});
  const jobs = { ...ci?.jobs, ...release?.jobs };
  const writing = Object.entries(jobs).map(([name, { permissions = {} }]) => [
    name,
    Object.keys(permissions).filter((key) => permissions[key] === "write"),
  ]).filter(([, keys]) => keys?.length !== 0);
  assertEquals(Object.fromEntries(writing), {
    npm: ["id-token"],
    jsr: ["id-token"],
    image: ["packages", "id-token", "attestations", "artifact-metadata"],
    github: ["contents", "id-token", "attestations"],
  });
});

Deno.test("the workflows name tasks, files and platforms that exist, and one version of Deno", async () => {
  const tasks = [...all.matchAll(/deno task (?:--quiet )?([\w:-]+)/g)]
    .map(([, name = ""]) => name);
  assertEquals(tasks.filter((name) => !(name in config.tasks)), []);
  for (
    const [file] of all.matchAll(/\btools\/[\w/]+\.ts|(?<=run: )\.ci\/run/g)
  ) {
    await read(file);
  }
  const { include = [] } = release?.jobs.smoke?.strategy?.matrix ?? {};
  assertEquals(include.map(({ target }) => target), TARGETS);
  const versions = `${all}\n${await read("Dockerfile")}`
    .matchAll(/DENO_VERSION(?:: |=)([\d.]+)/g);
  assertEquals(new Set([...versions].map(([, version]) => version)).size, 1);
  assertEquals(all.match(/\S+actionlint\S+/g), [ACTIONLINT]);
});

Deno.test("the package carries nothing that is only for its release", () => {
  const own = ["Dockerfile", ".dockerignore", ".github/", "deploy/", "tools/"];
  assertEquals(
    config.publish.include.filter((path) => own.includes(path)),
    [],
  );
});
