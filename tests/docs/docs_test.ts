import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { generate } from "selfsigned";
import config from "../../deno.json" with { type: "json" };
import { parseComputerConfig } from "../../computer/config/parse_config.ts";
import { parseApiKeys } from "../../server/mod.ts";
import { codeBlocks } from "./_blocks.ts";
import { commandsIn, mistakeIn } from "./_commands.ts";
import { complaintOf, isInstalled, outputOf } from "./_tools.ts";

const root = new URL("../../", import.meta.url);
const blocks = await codeBlocks();
const scripts = blocks.filter(({ language }) => language === "sh");
const examples = (name: string) =>
  blocks.filter(({ example }) => example === name);

Deno.test("the shell scripts of the documentation parse", async () => {
  assert(scripts.length > 10);
  for (const { at, code } of scripts) {
    assertEquals(await complaintOf("bash", ["-n", "-c", code]), "", at);
  }
});

Deno.test("the commands of the documentation exist and know every flag", async () => {
  const mistakes: string[] = [];
  for (const { at, code } of scripts) {
    for (const command of commandsIn(code)) {
      const mistake = await mistakeIn(command);
      if (mistake !== undefined) mistakes.push(`${at}: ${mistake}`);
    }
    for (const [, task = ""] of code.matchAll(/deno task (\S+)/g)) {
      if (!(task in config.tasks)) mistakes.push(`${at}: no task ${task}`);
    }
  }
  assertEquals(mistakes, []);
});

Deno.test("mistakeIn() finds a wrong flag and a wrong subcommand", async () => {
  const [wrongFlag, wrongCommand, ...rest] = commandsIn(
    "A=b smcp-server --prot 1 | cat\ndeno run -A agent/main.ts fly --office x",
  );
  assertEquals(rest, []);
  assert(wrongFlag && wrongCommand);
  assertEquals(
    await mistakeIn(wrongFlag),
    "smcp-server does not know --prot",
  );
  assertEquals(await mistakeIn(wrongCommand), "there is no smcp-agent fly");
});

Deno.test("the configurations of the documentation are valid", () => {
  const found = examples("configuration");
  assert(found.length > 1);
  for (const { at, code } of found) parseComputerConfig(JSON.parse(code), at);
});

Deno.test("the API keys of the documentation are valid", () => {
  const [found] = examples("api-keys");
  assertEquals(parseApiKeys(found?.code ?? "").length, 2);
});

Deno.test("the container of the documentation copies what there is, and starts what there is", async () => {
  const [found] = examples("container");
  const code = found?.code ?? "";
  for (const [, line = ""] of code.matchAll(/^COPY (.*) \S+$/gm)) {
    for (const path of line.split(" ")) {
      await Deno.stat(new URL(path, root));
    }
  }
  const [, list = "[]"] = /^CMD (\[.*\])$/m.exec(code) ?? [];
  const [command, ...rest] = commandsIn(JSON.parse(list).join(" "));
  assert(command);
  assertEquals(rest, []);
  assertEquals(await mistakeIn(command), undefined);
});

/** A test of an example with a tool that may not be here. */
async function testWith(
  tool: string,
  example: string,
  test: (code: string, folder: string) => Promise<void>,
): Promise<void> {
  const ignore = !await isInstalled(tool);
  if (ignore) console.log(`SKIPPED: ${tool} is not installed`);
  Deno.test({
    name: `${tool} takes the example of the documentation`,
    ignore,
    fn: async () => {
      const folder = await Deno.makeTempDir({ prefix: "smcp-docs-" });
      try {
        const [found] = examples(example);
        assert(found, `There is no example ${example}`);
        await test(found.code, folder);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

await testWith("nginx", "nginx", async (code, folder) => {
  const { cert, private: key } = await generate();
  await Deno.writeTextFile(join(folder, "cert.pem"), cert);
  await Deno.writeTextFile(join(folder, "key.pem"), key);
  const file = join(folder, "nginx.conf");
  const here = code.replaceAll("/etc/ssl/smcp/", `${folder}/`)
    .replace("listen 443", "listen 8443"); // which anybody may
  await Deno.writeTextFile(
    file,
    `pid ${folder}/pid; error_log stderr; events {} http { access_log off;\n${here}}`,
  );
  assertEquals(await complaintOf("nginx", ["-t", "-q", "-c", file]), "");
});

await testWith("caddy", "caddy", async (code, folder) => {
  const file = join(folder, "Caddyfile");
  await Deno.writeTextFile(file, code);
  const args = ["validate", "--config", file, "--adapter", "caddyfile"];
  assertEquals(await complaintOf("caddy", args), "");
});

await testWith("systemd-analyze", "systemd", async (code, folder) => {
  const file = join(folder, "smcp-server.service");
  // It looks for the program, which is not installed here.
  const program = "/usr/local/bin/smcp-server";
  await Deno.writeTextFile(file, code.replace(program, Deno.execPath()));
  // It succeeds whatever it ignores; the machine's own units are not ours.
  const { output } = await outputOf("systemd-analyze", [
    "verify",
    "--man=no",
    file,
  ]);
  assertEquals(output.split("\n").filter((line) => line.includes(file)), []);
  const [, start = ""] = /^ExecStart=(.*)$/m.exec(code) ?? [];
  const [command] = commandsIn(start.replace(program, "smcp-server"));
  assert(command);
  assertEquals(await mistakeIn(command), undefined);
});
