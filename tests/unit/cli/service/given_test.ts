import { assertEquals } from "@std/assert";
import { Command, Option } from "commander";
import process from "node:process";
import { reporting } from "../../../../cli/run.ts";
import {
  type GivenOptions,
  recordGiven,
  withVariables,
} from "../../../../cli/service/install.ts";
import { pickVariables } from "../../../../cli/service/command.ts";

/** Parses a command line with variables of the environment, which commander reads itself. */
async function given(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<GivenOptions & { command: Command }> {
  for (const [name, value] of Object.entries(env)) process.env[name] = value;
  try {
    const program = reporting(new Command("program"), env);
    const command = program.command("install")
      .addOption(new Option("-c, --config <file>").env("TEST_CONFIG"))
      .addOption(new Option("--most <n>").env("TEST_MOST").default(1))
      .addOption(new Option("--proxy [n]").preset("1").env("TEST_PROXY"))
      .addOption(new Option("--input <x...>"))
      .addOption(new Option("--yes").env("TEST_YES"))
      .addOption(new Option("--skills <dir>").default("d").env("TEST_SKILLS"))
      .addOption(new Option("--no-skills").env("TEST_NO_SKILLS"))
      .addOption(new Option("--no-limits").env("TEST_NO_LIMITS"))
      .addOption(new Option("--url <url>").env("TEST_URL"))
      .addOption(new Option("--key <key>").env("TEST_KEY"))
      .addOption(new Option("--plain"));
    const read = recordGiven(
      command,
      ["--plain"],
      (flag, text) => flag === "--key" ? ["TEST_KEY", text] : undefined,
    );
    command.action(() => {});
    await program.parseAsync(["install", ...args], { from: "user" });
    return { ...read(), command };
  } finally {
    for (const name of Object.keys(env)) delete process.env[name];
  }
}

const ROWS: readonly (readonly [
  readonly string[],
  Readonly<Record<string, string>>,
  readonly string[],
])[] = [
  [[], {}, []],
  [["-c", "-a b.json"], {}, ["--config=-a b.json"]],
  [["--proxy"], {}, ["--proxy"]],
  [["--proxy", "2"], {}, ["--proxy=2"]],
  [["--input", "a", "--input", "b="], {}, ["--input=a", "--input=b="]],
  [["--yes", "--plain"], {}, ["--yes"]],
  [["--most", "1"], {}, ["--most=1"]],
  [["--skills", "x"], {}, ["--skills=x"]],
  [["--no-skills"], {}, ["--no-skills"]],
  [[], { TEST_CONFIG: "a.json" }, ["--config=a.json"]],
  [["--config", "b.json"], { TEST_CONFIG: "a.json" }, ["--config=b.json"]],
  [[], { TEST_YES: "1", TEST_NO_LIMITS: "1" }, ["--yes", "--no-limits"]],
  [[], { TEST_YES: "0", TEST_NO_LIMITS: "0" }, []],
  [[], { TEST_PROXY: "3" }, ["--proxy=3"]],
];

for (const [args, env, again] of ROWS) {
  Deno.test(`recordGiven() of ${JSON.stringify([args, env])}`, async () => {
    const { args: found, secrets } = await given(args, env);
    assertEquals(found, [...again]);
    assertEquals(secrets, {});
  });
}

Deno.test("recordGiven() keeps credentials apart, from wherever they come", async () => {
  for (
    const end of [
      await given(["--key", "k", "--url", "redis://a:b@c"]),
      await given([], { TEST_KEY: "k", TEST_URL: "redis://a:b@c" }),
    ]
  ) {
    assertEquals(end.args, []);
    assertEquals(end.secrets, { TEST_KEY: "k", TEST_URL: "redis://a:b@c" });
  }
});

Deno.test("withVariables() adds what no option says", async () => {
  const { command } = await given(["--most", "2"]);
  assertEquals(
    withVariables<Record<string, unknown>>(
      { most: "2" },
      command,
      { TEST_MOST: "3", TEST_CONFIG: "kept.json", TEST_YES: "1", OTHER: "x" },
    ),
    { most: "2", config: "kept.json" },
  );
});

Deno.test("pickVariables() keeps what has a password from the definition", () => {
  assertEquals(
    pickVariables(
      {
        PATH: "/home/me@work/bin",
        HTTPS_PROXY: "http://me:secret@proxy:1",
        NO_PROXY: "localhost",
        SSL_CERT_FILE: "() { :; }",
        OTHER: "o",
      },
      "/file.env",
    ),
    {
      open: {
        PATH: "/home/me@work/bin",
        NO_PROXY: "localhost",
        SMCP_ENV_FILE: "/file.env",
      },
      secret: { HTTPS_PROXY: "http://me:secret@proxy:1" },
    },
  );
});
