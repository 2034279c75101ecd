import { assertEquals, assertThrows } from "@std/assert";
import { launchOf, type Start } from "../../../../cli/service/install.ts";
import type { ServiceName } from "../../../../cli/service/manager.ts";

/** A way to start the package, and what starts it again. */
interface Way {
  readonly name: string;
  readonly service?: ServiceName;
  readonly program: string;
  readonly argv: readonly string[];
  readonly module: string;
  readonly command: readonly string[];
}

const DENO = "/opt/my tools/deno";
const NODE = "/usr/bin/node";
const BUN = "/home/ada/.bun/bin/bun";
const INSTALL = ["service", "install"];
const JSR = "https://jsr.io/@a2c-smcp/sdk/0.2.0/cli/own_command.ts";
const CLONE = "file:///home/ada/my%20sdk/cli/own_command.ts";
const CLI = "/usr/lib/node_modules/@a2c-smcp/cli";

const WAYS: readonly Way[] = [
  {
    name: "deno run, from JSR",
    program: DENO,
    argv: ["jsr:@a2c-smcp/sdk/computer/main", ...INSTALL],
    module: JSR,
    command: [DENO, "run", "-A", "jsr:@a2c-smcp/sdk@0.2.0/computer/main"],
  },
  {
    name: "deno run, from JSR, as a part of smcp",
    program: DENO,
    argv: ["jsr:@a2c-smcp/sdk", "computer", ...INSTALL],
    module: JSR,
    command: [DENO, "run", "-A", "jsr:@a2c-smcp/sdk@0.2.0/computer/main"],
  },
  {
    name: "deno run, in a clone",
    service: "smcp-server",
    program: DENO,
    argv: ["/home/ada/my sdk/server/main.ts", ...INSTALL],
    module: CLONE,
    command: [DENO, "run", "-A", "/home/ada/my sdk/server/main.ts"],
  },
  {
    name: "deno run, in a clone, as a part of smcp",
    service: "smcp-server",
    program: DENO,
    argv: ["/home/ada/my sdk/main.ts", "server", ...INSTALL],
    module: CLONE,
    command: [DENO, "run", "-A", "/home/ada/my sdk/server/main.ts"],
  },
  {
    name: "deno run, from npm",
    program: DENO,
    argv: ["npm:@a2c-smcp/cli/smcp-computer", ...INSTALL],
    module:
      "file:///home/ada/.cache/deno/npm/registry.example/@a2c-smcp/cli/0.2.0/lib/cli/own_command.js",
    command: [DENO, "run", "-A", "npm:@a2c-smcp/cli@0.2.0/smcp-computer"],
  },
  {
    name: "deno run, in node_modules",
    program: DENO,
    argv: ["/app/node_modules/@a2c-smcp/cli/bin/smcp-computer.js", ...INSTALL],
    module: "file:///app/node_modules/@a2c-smcp/cli/lib/cli/own_command.js",
    command: [
      ...[DENO, "run", "-A"],
      "/app/node_modules/@a2c-smcp/cli/lib/computer/main.js",
    ],
  },
  {
    name: "a bundle on Deno",
    program: DENO,
    argv: ["/srv/computer.js", ...INSTALL],
    module: "file:///srv/computer.js",
    command: [DENO, "run", "-A", "/srv/computer.js"],
  },
  {
    name: "a compiled command",
    program: "/opt/smcp-computer",
    argv: ["/opt/smcp-computer", ...INSTALL],
    module: "file:///tmp/deno-compile-smcp-computer/cli/own_command.ts",
    command: ["/opt/smcp-computer"],
  },
  {
    name: "the compiled smcp",
    program: "/opt/smcp",
    argv: ["/opt/smcp", "computer", ...INSTALL],
    module: "file:///tmp/deno-compile-smcp/cli/own_command.ts",
    command: ["/opt/smcp", "computer"],
  },
  {
    name: "npm's command on Node",
    program: NODE,
    argv: ["/usr/bin/smcp-computer", ...INSTALL],
    module: `file://${CLI}/lib/cli/own_command.js`,
    command: [NODE, "/usr/bin/smcp-computer"],
  },
  {
    name: "npm's smcp on Node",
    program: NODE,
    argv: ["/usr/bin/smcp", "computer", ...INSTALL],
    module: `file://${CLI}/lib/cli/own_command.js`,
    command: [NODE, "/usr/bin/smcp", "computer"],
  },
  {
    name: "npm's smcp on Bun",
    program: BUN,
    argv: ["/app/node_modules/.bin/smcp", "computer", ...INSTALL],
    module: "file:///app/node_modules/@a2c-smcp/cli/lib/cli/own_command.js",
    command: [BUN, "/app/node_modules/.bin/smcp", "computer"],
  },
  {
    name: "a bundle on Node",
    service: "smcp-server",
    program: NODE,
    argv: ["/srv/server.mjs", ...INSTALL],
    module: "file:///srv/server.mjs",
    command: [NODE, "/srv/server.mjs"],
  },
];

const start = ({ program, argv, module }: Way): Start => ({
  program,
  argv: [program, ...argv],
  module,
});

for (const way of WAYS) {
  Deno.test(`launchOf() starts this program again: ${way.name}`, () => {
    assertEquals(
      launchOf(way.service ?? "smcp-computer", start(way), ["-A"]),
      [...way.command],
    );
  });
}

Deno.test("launchOf() gives Deno the permissions of the command", () => {
  const permissions = ["--allow-net", "--allow-read"];
  const argv = [DENO, "/sdk/server/main.ts", ...INSTALL];
  assertEquals(
    launchOf("smcp-server", { program: DENO, argv, module: CLONE }, permissions)
      .slice(1, 4),
    ["run", ...permissions],
  );
});

for (
  const [program, script, remedy] of [
    [
      NODE,
      "/home/ada/.npm/_npx/0a1b/node_modules/.bin/smcp-computer",
      'install the commands with "npm install --global @a2c-smcp/cli"',
    ],
    [
      BUN,
      "/tmp/bunx-1000-@a2c-smcp/cli@latest/node_modules/.bin/smcp-computer",
      'install the commands with "bun add --global @a2c-smcp/cli"',
    ],
  ] as const
) {
  Deno.test(`launchOf() refuses what will be deleted: ${script}`, () => {
    const argv = [program, script, ...INSTALL];
    const module = "file:///x/cli/own_command.js";
    assertThrows(
      () => launchOf("smcp-computer", { program, argv, module }, []),
      Error,
      remedy,
    );
  });
}
