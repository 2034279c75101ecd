/**
 * The container, without a container: the lines of the Dockerfile are carried out in folders, and the
 * commands of the image start with Deno in place of the image's own.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../../tools/process.ts";
import { start } from "../support/child.ts";
import { scratch } from "../support/scratch.ts";
import { check } from "./checkers.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const source = await Deno.readTextFile(join(root, "Dockerfile"));

/** An instruction of the Dockerfile: its name, and the rest of its line. */
type Instruction = readonly [name: string, rest: string];

/** The instructions of each stage. */
const [build = [], image = []] = source.replace(/\\\n\s*/g, "").split(/^FROM /m)
  .slice(1).map((stage) =>
    [...stage.matchAll(/^([A-Z]+) (.*)$/gm)]
      .map(([, name = "", rest = ""]): Instruction => [name, rest])
  );

const of = (stage: readonly Instruction[], name: string): string[] =>
  stage.filter(([found]) => found === name).map(([, rest]) => rest);

const KEYS = JSON.stringify([
  { id: "op", key: "0123456789abcdef0123456789abcdef", roles: ["operator"] },
]);

Deno.test("hadolint has no complaint about the Dockerfile", async () => {
  assertEquals(await check("hadolint", ["Dockerfile"]), "");
});

Deno.test("the image starts as its user, and writes nowhere", () => {
  assertEquals(
    ["USER", "RUN", "VOLUME"].map((name) => of(image, name)),
    [["65532:65532"], [], []],
  );
});

Deno.test("what the Dockerfile copies is enough for a bundle, which runs as the image runs it and passes its health check", async () => {
  await using place = await scratch();
  const at = (path: string) => join(place.path, path);
  for (const [from, to] of of(build, "COPY").flatMap(copies)) {
    await cp(join(root, from), at(`src/${to}`), { recursive: true });
  }
  const [bundling = "[]"] = of(build, "RUN");
  const [deno = "", ...args] = commandOf(bundling, at("app"));
  await run(deno, args, at("src"));

  const env: Record<string, string> = {
    ...Object.fromEntries(
      of(image, "ENV").join(" ").split(" ").map((pair) => pair.split("=")),
    ),
    SMCP_API_KEYS: KEYS,
    SMCP_PORT: "0",
    // Below a file, where nobody can write.
    DENO_DIR: at("app/main.js/cache"),
    HOME: at("none"),
  };
  const [tini, dashes, program, ...words] = commandOf(
    of(image, "ENTRYPOINT")[0] ?? "[]",
    at("app"),
  );
  assertEquals([tini, dashes, program], ["/tini", "--", "/bin/deno"]);
  const denied = `--deny-read=${[root, at("src"), at("app")]}`;
  await using server = start(
    Deno.execPath(),
    [...words.slice(0, -1), denied, ...words.slice(-1), "--mcp"],
    { cwd: at("app"), env },
  );
  const [, port = ""] = await server.line(/listening on http:.*:(\d+) /);
  for (
    const [path, status] of [
      ["/ready", 200],
      ["/console", 200],
      ["/mcp/home", 401],
    ] as const
  ) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    await response.body?.cancel();
    assertEquals(response.status, status, path);
  }

  const [, health = "[]"] = of(image, "HEALTHCHECK")[0]?.split(" CMD ") ?? [];
  const healthOf = async () => {
    const [deno, ...args] = commandOf(health, at("app"));
    assertEquals(deno, "/bin/deno");
    await using child = start(Deno.execPath(), args, {
      cwd: at("app"),
      env: { ...env, SMCP_PORT: port },
    });
    return (await child.status).code;
  };
  assertEquals(await healthOf(), 0);
  server.signal("SIGTERM");
  assertEquals((await server.status).code, 0, server.lines.join("\n"));
  assertEquals(await healthOf(), 1);
});

Deno.test("the build context has what the Dockerfile copies, and leaves out what is fetched", async () => {
  const ignored = (await Deno.readTextFile(join(root, ".dockerignore")))
    .trim().split("\n");
  const copied = of(build, "COPY").flatMap(copies).map(([from]) => from);
  assert(copied.includes("server"));
  assertEquals(copied.filter((path) => ignored.includes(path)), []);
  assertEquals(
    ["**/node_modules", "**/.venv", ".git"].filter((path) =>
      !ignored.includes(path)
    ),
    [],
  );
});

/** Returns the paths that a COPY copies, from where to where. */
function copies(rest: string): [from: string, to: string][] {
  const words = rest.split(" ");
  const to = words.pop() ?? "";
  return words.map((from) => [
    from,
    to.endsWith("/") ? `${to}${from.split("/").at(-1)}` : to,
  ]);
}

/** Reads a command in its JSON form, with another folder in place of /app. */
const commandOf = (json: string, app: string): string[] =>
  (JSON.parse(json) as string[]).map((word) => word.replace(/^\/app/, app));
