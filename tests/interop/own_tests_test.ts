import { assertEquals, assertStringIncludes } from "@std/assert";
import { readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { scratch } from "../support/scratch.ts";
import { SCREEN_TIMEOUT_MS } from "./support/casts.ts";
import { pythonOf, SCRIPTS, sdkSources } from "./support/venv.ts";

/**
 * Every test of the SDK that starts a Server over HTTP, but those of marketplaces, which start none;
 * in two halves that take equally long, side by side.
 */
const HALVES = [
  ["test_async_integration_e2e.py", "test_async_integration_vrl_e2e.py"],
  [
    ...["test_v02_full_flow.py", "test_v02_skill_blob_e2e.py"],
    "test_v02_tool_call_binary_e2e.py",
    "test_v02_update_tool_list_e2e.py",
    "test_version_handshake_conftest_server.py",
    ...["server", "agent"],
  ],
].map((half) => half.map((file) => `tests/e2e/${file}`));

const TESTS = 38;

/** Those that cannot pass, with the reason in what they report. */
const KNOWN: Readonly<Record<string, string>> = {
  // It sends get_tools without `agent`, which the protocol requires.
  "tests/e2e/server/test_server_e2e.py::test_server_end_to_end_flow":
    "Invalid payload: agent",
};

/** What the plugin writes of a test. */
interface Outcome {
  test: string;
  outcome: string;
  why?: string;
}

Deno.test({
  name: "the end-to-end tests of the Python SDK 0.4 pass at our Server",
  timeout: SCREEN_TIMEOUT_MS,
}, async (t) => {
  const halves = await Promise.all(HALVES.map(runTests));
  const outcomes = halves.flatMap((half) => half.outcomes);
  for (const { test, outcome, why = "" } of outcomes) {
    const known = KNOWN[test];
    await t.step(known === undefined ? test : `${test}: fails`, () => {
      if (known === undefined) assertEquals(outcome, "passed", why);
      else assertStringIncludes(why, known);
    });
  }
  const log = halves.map((half) => half.log).join("\n");
  assertEquals(outcomes.length, TESTS, log);
});

/** Runs tests of the SDK, whose Servers are this package's. */
async function runTests(
  files: readonly string[],
): Promise<{ outcomes: Outcome[]; log: string }> {
  const python = await pythonOf("tests");
  const sources = await sdkSources();
  await using folder = await scratch();
  const report = join(folder.path, "outcomes");
  const pytest = ["-m", "pytest", "-p", "our_server", "-p", "no:cacheprovider"];
  const limits = ["--timeout=60", "--timeout-method=thread"];
  const { stdout } = await new Deno.Command(python, {
    args: [...pytest, ...limits, "-q", ...files],
    cwd: sources,
    env: {
      DENO_DIR: denoDir(), // by default it is in the home directory
      HOME: folder.path, // where the SDK keeps files
      PYTHONDONTWRITEBYTECODE: "1",
      PYTHONPATH: [SCRIPTS, sources].join(delimiter),
      SMCP_OUTCOMES: report,
      SMCP_SERVER: JSON.stringify(SERVER),
    },
  }).output();
  const lines = await readFile(report, "utf8").catch(() => "");
  return {
    outcomes: lines.split("\n").filter(Boolean).map((line) => JSON.parse(line)),
    log: new TextDecoder().decode(stdout),
  };
}

/** The command of this package's Server. */
const SERVER = [
  Deno.execPath(),
  ...["run", "--no-prompt", "--frozen"],
  ...["--allow-net", "--allow-env", "--allow-read"],
  fileURLToPath(new URL("../../server/main.ts", import.meta.url)),
];

/** Deno's cache, which the Servers share with this process. */
function denoDir(): string {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["info", "--json"],
  });
  const { stdout } = command.outputSync();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}
