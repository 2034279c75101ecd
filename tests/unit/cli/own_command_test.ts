import { assertEquals } from "@std/assert";
import { ownCommand, shellWord } from "../../../cli/own_command.ts";

const at = (program: string, root: string, ext = "ts") =>
  [program, `${root}/cli/own_command.${ext}`] as const;

Deno.test("ownCommand() names what JSR has, with its version", () => {
  const jsr = at("/usr/bin/deno", "https://jsr.io/@a2c-smcp/sdk/0.2.0");
  assertEquals(
    ownCommand("smcp-agent", ...jsr),
    "deno run -A jsr:@a2c-smcp/sdk@0.2.0/agent/main",
  );
  assertEquals(
    ownCommand("smcp", ...jsr),
    "deno run -A jsr:@a2c-smcp/sdk@0.2.0",
  );
});

Deno.test("ownCommand() names the file of a clone, quoted where a shell needs it", () => {
  assertEquals(
    ownCommand(
      "smcp-computer",
      ...at("/usr/bin/deno", "file:///my%20home/sdk"),
    ),
    "deno run -A '/my home/sdk/computer/main.ts'",
  );
  assertEquals(
    ownCommand("smcp", ...at("C:\\deno.exe", "file:///C:/sdk")),
    "deno run -A C:/sdk/mod.ts",
  );
});

Deno.test("ownCommand() asks npx for the commands of our own package on Node, where they are not in PATH", () => {
  const folders = {
    "/app/node_modules/@a2c-smcp/cli/lib": "npx -p @a2c-smcp/cli smcp-agent",
    "/app/node_modules/@a2c-smcp/sdk": "npx -p @a2c-smcp/cli smcp-agent",
    "/home/ada/.npm/_npx/0a1b/node_modules/@a2c-smcp/cli/lib":
      "npx -p @a2c-smcp/cli smcp-agent",
    "/usr/local/lib/node_modules/@a2c-smcp/cli/lib": "smcp-agent",
    "/C:/Users/ada/AppData/Roaming/npm/node_modules/@a2c-smcp/cli/lib":
      "smcp-agent",
  };
  for (const [folder, expected] of Object.entries(folders)) {
    const node = at("/usr/bin/node", `file://${folder}`, "js");
    assertEquals(ownCommand("smcp-agent", ...node), expected, folder);
  }
});

Deno.test("ownCommand() asks bunx on Bun, where they are not in PATH", () => {
  const folders = {
    "/app/node_modules/@a2c-smcp/cli/lib":
      "bunx --bun -p @a2c-smcp/cli smcp-agent",
    "/home/ada/.bun/install/global/node_modules/@a2c-smcp/cli/lib":
      "smcp-agent",
  };
  for (const [folder, expected] of Object.entries(folders)) {
    const bun = at("/home/ada/.bun/bin/bun", `file://${folder}`, "js");
    assertEquals(ownCommand("smcp-agent", ...bun), expected, folder);
  }
});

Deno.test("ownCommand() of a binary or a bundle is the name of the command", () => {
  const binary = at("/opt/smcp-computer", "file:///tmp/compiled");
  assertEquals(ownCommand("smcp-agent", ...binary), "smcp-agent");
  const bundle = ["/usr/bin/deno", "file:///computer.js"] as const;
  assertEquals(ownCommand("smcp-agent", ...bundle), "smcp-agent");
});

Deno.test("shellWord() quotes what a shell would take apart", () => {
  assertEquals(shellWord("a.b/c"), "a.b/c");
  assertEquals(shellWord("it's here"), `'it'\\''s here'`);
  assertEquals(shellWord(""), "''");
});
