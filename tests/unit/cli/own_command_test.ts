import { assertEquals } from "@std/assert";
import { ownCommand, shellWord } from "../../../cli/own_command.ts";

Deno.test("ownCommand() names a command as it is started here: of JSR, a clone, npx, bunx, a binary or a bundle", () => {
  const deno = "/usr/bin/deno";
  const node = "/usr/bin/node";
  const bun = "/home/ada/.bun/bin/bun";
  const jsr = "https://jsr.io/@a2c-smcp/sdk/0.2.0/cli/own_command.ts";
  const windows = "file:///C:/Users/ada/AppData/Roaming/npm";
  const npx = "npx -p @a2c-smcp/cli smcp-agent";
  const bunx = "bunx --bun -p @a2c-smcp/cli smcp-agent";
  const own = "node_modules/@a2c-smcp/cli/lib/cli/own_command.js";
  const agents: [program: string, module: string, command: string][] = [
    [deno, jsr, "deno run -A jsr:@a2c-smcp/sdk@0.2.0/agent/main"],
    [node, `file:///app/${own}`, npx],
    [node, "file:///app/node_modules/@a2c-smcp/sdk/cli/own_command.js", npx],
    [node, `file:///home/ada/.npm/_npx/0a1b/${own}`, npx],
    [node, `file:///usr/local/lib/${own}`, "smcp-agent"],
    [node, `${windows}/${own}`, "smcp-agent"],
    [bun, `file:///app/${own}`, bunx],
    [bun, `file:///home/ada/.bun/install/global/${own}`, "smcp-agent"],
    ["/opt/smcp", "file:///tmp/compiled/cli/own_command.ts", "smcp-agent"],
    [deno, "file:///computer.js", "smcp-agent"],
  ];
  for (const [program, module, command] of agents) {
    assertEquals(ownCommand("smcp-agent", program, module), command, module);
  }
  const ada = "file:///my%20home/sdk/cli/own_command.ts";
  const eve = "file:///C:/sdk/cli/own_command.ts";
  assertEquals(
    [
      ownCommand("smcp", deno, jsr),
      ownCommand("smcp-computer", deno, ada),
      ownCommand("smcp", "C:\\deno.exe", eve),
    ],
    [
      "deno run -A jsr:@a2c-smcp/sdk@0.2.0",
      "deno run -A '/my home/sdk/computer/main.ts'",
      "deno run -A C:/sdk/mod.ts",
    ],
  );
});

Deno.test("shellWord() quotes what a shell would take apart", () => {
  const words = ["a.b/c", "it's here", ""];
  assertEquals(words.map(shellWord), ["a.b/c", `'it'\\''s here'`, "''"]);
});
