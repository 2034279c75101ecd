/**
 * The single binaries. `deno compile` gets the runtime from `DENORT_BIN`, which is Deno itself, so
 * that nothing is downloaded; the result has all its parts, but starts Deno's own command line. So
 * sizes and contents are tested with the binaries, and behavior with exactly the files that are
 * embedded in them.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Client } from "@modelcontextprotocol/client";
import { SignJWT } from "jose";
import { createHash } from "node:crypto";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../../deno.json" with { type: "json" };
import {
  type Bundle,
  bundle,
  type Command,
  COMMANDS,
  TARGETS,
} from "../../tools/binaries/binaries.ts";
import { runtimeOf } from "../../tools/npm/deno_runtimes.ts";
import { run } from "../../tools/process.ts";
import { type Child, start } from "../support/child.ts";
import { everything } from "../support/computer/mcp_servers.ts";
import { ChildTransport } from "../support/mcp/clients.ts";
import { startProxy } from "../support/proxy.ts";
import { type Scratch, scratch } from "../support/scratch.ts";
import { CommandVisitor } from "../support/server/command_visitor.ts";
import { KEY } from "../support/server/sign_in.ts";
import embedded from "./embedded.json" with { type: "json" };

/** MB that a binary may have beside the runtime. */
const MAX_MB: Readonly<Record<Command, number>> = {
  "smcp-agent": 12,
  "smcp-server": 15,
  "smcp-computer": 35,
  smcp: 40,
};

const { version } = config;
const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = await Deno.makeTempDir({ prefix: "smcp-compile-" });
const commands = Object.keys(COMMANDS) as Command[];

const bundles: Partial<Record<Command, Bundle>> = {};

Deno.test.beforeAll(async () => {
  for (const command of commands) {
    bundles[command] = await bundle(command, join(folder, command));
  }
});
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

Deno.test("deno task compile writes a small binary of each command", async () => {
  await using out = await scratch();
  await task("compile", ["--out", out.path], Deno.execPath());
  const runtime = (await Deno.stat(Deno.execPath())).size;
  for (const command of commands) {
    const { size } = await Deno.stat(join(out.path, command));
    const bytes = size - runtime;
    assert(bytes > (bundles[command]?.bytes ?? NaN), `${command}: ${bytes}`);
    assert(bytes < MAX_MB[command] * 1e6, `${command}: ${bytes}`);
  }
});

Deno.test("a binary embeds the packages of tests/compile/embedded.json, and no other", () => {
  const found = commands.map((name) => [name, bundles[name]?.packages]);
  assertEquals(Object.fromEntries(found), embedded);
});

Deno.test("deno task release writes archives for five platforms, with license, completions and checksums", async (t) => {
  await using out = await scratch();
  for (const target of TARGETS) {
    await t.step(target, async () => {
      const args = ["smcp-agent", "--target", target, "--out", out.path];
      await task("release", args, await runtimeOf(target));
      const name = `smcp-agent-${version}-${target}`;
      const windows = target.includes("windows");
      const archive = `${name}.${windows ? "zip" : "tar.gz"}`;
      const listed = await run("python3", ["-c", LIST, archive], out.path);
      assertEquals(listed.trim().split("\n"), [
        `${name}/LICENSE`,
        `${name}/completions/_smcp-agent`,
        `${name}/completions/smcp-agent.bash`,
        `${name}/completions/smcp-agent.fish`,
        `${name}/smcp-agent${windows ? ".exe" : ""}`,
      ]);
      const bytes = await Deno.readFile(join(out.path, archive));
      const sum = createHash("sha256").update(bytes).digest("hex");
      const sums = await Deno.readTextFile(join(out.path, "SHA256SUMS"));
      assert(sums.split("\n").includes(`${sum}  ${archive}`), sums);
    });
  }
  const check = () =>
    run("sha256sum", ["--check", "--strict", "SHA256SUMS"], out.path);
  const [changed = ""] = (await check()).split(":");
  await Deno.writeTextFile(join(out.path, changed), "x", { append: true });
  await assertRejects(check, Error, `${changed}: FAILED`);
});

Deno.test("the tasks name an unknown command, target or option, and what there is", async () => {
  for (
    const [args, text] of [
      [["agent"], '"agent" is no command; use smcp-server, smcp-agent'],
      [["--target", "linux"], '"linux" is no target; use x86_64-unknown'],
      [["--targte", "linux"], "Unknown option '--targte'"],
    ] as const
  ) {
    const end = await task("compile", args, Deno.execPath()).catch(String);
    assert(end?.includes(`exit code 2`) && end.includes(text), end);
  }
});

Deno.test("a Server runs from its embedded files alone, with what it loads when it is used", async () => {
  await using place = await emptyPlace();
  await using server = place.start("smcp-server", [
    ...["--port", "0", "--metrics", "--mcp", "--tracing"],
    ...["--jwt-issuer", "https://issuer.example", "--jwt-audience", "smcp"],
  ], { SMCP_JWT_SECRET: SECRET });
  const [url] = await server.line(URL_LINE);
  const token = await new SignJWT({ role: "agent" })
    .setProtectedHeader({ alg: "HS256" })
    .setSubject("test").setExpirationTime("1h")
    .setIssuer("https://issuer.example").setAudience("smcp")
    .sign(new TextEncoder().encode(SECRET));
  const read = async (path: string, bearer = token, method = "GET") => {
    const headers = { authorization: `Bearer ${bearer}` };
    const response = await fetch(`${url}${path}`, { method, headers });
    const text = await response.text();
    assertEquals(response.status, bearer === token ? 200 : 401, text);
    return text;
  };
  await read("/health");
  assertMatch(await read("/metrics"), /^smcp_connections 0$/m);
  const page = await read("/console");
  const parts = [...page.matchAll(/(?:src|href)="([^"#:]+)"/g)]
    .map(([, part = ""]) => part);
  assert(parts.some((part) => part.endsWith(".js")), page);
  for (const part of parts) {
    await read(new URL(part, `${url}/console`).pathname);
  }
  await read("/mcp/home", `${token}x`, "POST");
  assertEquals((await server.stop()).code, 0, server.lines.join("\n"));
});

Deno.test("a Server lets people sign in, and keeps that in a file, from its embedded files alone", async () => {
  await using place = await emptyPlace();
  await using proxy = await startProxy("http://127.0.0.1:9");
  const visitor = new CommandVisitor(proxy.url);
  const begin = async () => {
    const server = place.start("smcp-server", [
      ...["--port", "0", "--sign-in", "--public-url", proxy.url],
      ...["--sign-in-file", "kept/sign_ins.sqlite"],
    ], { SMCP_API_KEYS: JSON.stringify([{ id: "ann", key: KEY }]) });
    const [url] = await server.line(/http:\/\/127[\w.:]+/);
    proxy.turnTo(url);
    return server;
  };
  await using first = await begin();
  const tokens = await visitor.enter({ later: true }, {
    resource: `${proxy.url}/mcp/north`,
  });
  assertEquals((await first.stop()).code, 0, first.lines.join("\n"));
  await using second = await begin();
  assertEquals(await visitor.status(tokens.access_token), 200);
  assertEquals((await second.stop()).code, 0, second.lines.join("\n"));
});

Deno.test("Server, Computer and Agent run from their embedded files alone, and a VRL program transforms the result of a call", async () => {
  await using place = await emptyPlace();
  await place.write("computer.json", COMPUTER);
  await using server = place.start("smcp-server", ["--port", "0"]);
  const [url] = await server.line(URL_LINE);
  const here = ["--url", url, "--office", "home"];
  await using computer = place.start("smcp-computer", [
    ...["run", ...here, "--name", "laptop", "--config", "computer.json"],
    ...["--ui", "--yes"],
  ]);
  await computer.line(/running, \d+ tools/);
  await computer.line(/joined office/);
  await place.says("smcp-agent", ["tools", ...here], /\becho\b/);
  await place.says(
    "smcp-agent",
    ["call", "echo", ...here, "--arg", "message=hello", "--json"],
    /a2c_vrl_transformed.*ECHO/,
  );
  const [page] = await computer.line(/http:\/\/127\.0\.0\.1:\d+\/\S*/);
  assertMatch(await (await fetch(page)).text(), /<script/);
});

Deno.test("smcp up serves MCP clients, and smcp-agent mcp, from the embedded files alone", async () => {
  await using place = await emptyPlace();
  await place.write("computer.json", COMPUTER);
  await using up = place.start("smcp", [
    ...["up", "--config", "computer.json", "--port", "0", "--name", "laptop"],
    "--yes",
  ]);
  await up.line(/running, \d+ tools/);
  await up.line(/joined office/);
  const [url] = await up.line(URL_LINE);
  const args = ["mcp", "--url", url, "--office", "home"];
  const pipe = place.command("smcp-agent", args);
  const client = new Client({ name: "test", version: "1" });
  const command = Deno.execPath();
  await client.connect(new ChildTransport({ ...pipe, command }));
  const { tools } = await client.listTools();
  assert(
    tools.some(({ name }) => name.endsWith("echo")),
    JSON.stringify(tools),
  );
  await client.close();
});

Deno.test("what only some commands load is embedded too", async () => {
  await using place = await emptyPlace();
  await place.write("computer.json", COMPUTER);
  const service = ["service", "install", "--office", "home", "--print"];
  const config = ["--config", "computer.json"];
  await place.says("smcp", ["--help"], /^ {2}up /m);
  await place.says("smcp", ["completion", "bash"], /_smcp/);
  await place.says("smcp-computer", ["check", ...config], /No problem/);
  await place.says(
    "smcp-computer",
    [...service, ...config],
    /ExecStart|plist/,
  );
  await place.says("smcp-server", ["key", "--help"], /key add/);
  await place.says("smcp-agent", ["--version"], new RegExp(version));
  await place.says(
    "smcp-server",
    ["--port", "0", "--cluster", "redis://127.0.0.1:1"],
    /^error: .*127\.0\.0\.1:1/m, // the client of Redis is there
    1,
  );
});

Deno.test("an embedded command cannot read the folder that it was loaded from", async () => {
  await using place = await emptyPlace();
  const main = place.command("smcp-server", []).args.at(-1) ?? "";
  const source = "await Deno.readTextFile(import.meta.filename);";
  await Deno.writeTextFile(main, source);
  await place.says("smcp-server", [], /NotCapable: Requires read access/, 1);
});

Deno.test("binaries pass the smoke test that a release runs on each platform", async () => {
  await using place = await emptyPlace();
  const binaries = await Promise.all(commands.map(async (name) => {
    const { args, env } = place.command(name, []);
    const line = [Deno.execPath(), ...args].map((word) => `'${word}'`);
    const source = Object.entries(env).map(([key, value]) =>
      `export ${key}='${value}'\n`
    ).join("");
    return await place.write(
      name,
      `#!/bin/sh\n${source}exec ${line.join(" ")} "$@"\n`,
    );
  }));
  const output = await run(
    "deno",
    ["run", "-A", "--frozen", "tools/binaries/smoke.ts", ...binaries],
    root,
  );
  const started = output.trim().split("\n").map((line) => line.split(":")[0]);
  assertEquals(started, commands);
});

const URL_LINE = /http:\/\/[\w.:]+/;
const SECRET = "0123456789abcdef0123456789abcdef";

const denoDir = () =>
  Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;

const { server_parameters, ...rest } = everything();

/** The MCP server is a program of its own, with the cache of the test. */
const COMPUTER = {
  servers: {
    everything: {
      ...rest,
      server_parameters: { ...server_parameters, env: { DENO_DIR: denoDir() } },
      vrl: ".shout = upcase(string!(.tool_name))",
    },
  },
};

/** Lists the names in an archive, sorted, with what Python has for it. */
const LIST = `
import sys, tarfile, zipfile
name = sys.argv[1]
names = zipfile.ZipFile(name).namelist() if name.endswith("zip") else tarfile.open(name).getnames()
print("\\n".join(sorted(names)))`;

/** A machine that has nothing of the package but the embedded files. */
interface Place extends AsyncDisposable {
  /** Returns how a command is started there. */
  command(
    name: Command,
    args: readonly string[],
    env?: Record<string, string>,
  ): { args: string[]; cwd: string; env: Record<string, string> };
  start(...of: Parameters<Place["command"]>): Child;
  /** Runs a command; asserts its output and exit code. */
  says(
    name: Command,
    args: readonly string[],
    text: RegExp,
    code?: number,
  ): Promise<void>;
  /** Writes a program, or JSON, into the working directory; returns its path. */
  write(name: string, content: unknown): Promise<string>;
}

/**
 * An empty home directory, an empty cache. A command has the permissions of its binary, but cannot
 * read the source, the test's own cache, nor the embedded files: loading a module needs no permission.
 */
async function emptyPlace(): Promise<Place> {
  const place: Scratch = await scratch();
  const at = (name: string) => join(place.path, name);
  for (const name of commands) {
    await cp(join(folder, name), at(name), { recursive: true });
  }
  for (const name of ["home", "work"]) await Deno.mkdir(at(name));
  const command: Place["command"] = (name, args, env = {}) => ({
    args: [
      ...["run", "--no-config", "--no-lock", "--no-npm", "--no-remote"],
      ...["--cached-only", "--no-prompt", ...COMMANDS[name].permissions],
      `--deny-read=${[root, denoDir(), at(name)]}`,
      join(at(name), "main.js"),
      ...args,
    ],
    cwd: at("work"),
    env: { HOME: at("home"), DENO_DIR: at("cache"), ...env },
  });
  const begin: Place["start"] = (...of) => {
    const { args, ...options } = command(...of);
    return start(Deno.execPath(), args, options);
  };
  return {
    command,
    start: begin,
    async says(name, args, text, code = 0) {
      await using child = begin(name, args);
      const status = await child.status;
      const output = child.lines.join("\n");
      assertEquals(status.code, code, output);
      assertMatch(output, text);
    },
    write: async (name, content) => {
      const path = join(at("work"), name);
      const text = typeof content === "string"
        ? content
        : JSON.stringify(content);
      await Deno.writeTextFile(path, text, { mode: 0o755 });
      return path;
    },
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

/** Runs a task of deno.json, with a runtime for the binaries. */
const task = (name: string, args: readonly string[], runtime: string) =>
  run("env", [
    `DENORT_BIN=${runtime}`,
    ...[Deno.execPath(), "task", "--quiet", name, ...args],
  ], root);
