import { assert, assertEquals, assertMatch } from "@std/assert";
import { fileURLToPath } from "node:url";
import config from "../../../deno.json" with { type: "json" };
import * as agent from "../../../agent/mod.ts";
import * as computer from "../../../computer/mod.ts";
import * as root from "../../../mod.ts";
import * as protocol from "../../../protocol/mod.ts";
import * as server from "../../../server/mod.ts";
import * as testing from "../../../testing/mod.ts";
import { parseFindings } from "../../../tools/docs/doc_findings.ts";
import {
  EXPORTED_NAMES_FILE,
  exportedNames,
} from "../../../tools/docs/exported_names.ts";

Deno.test("the exported names are those of exported_names.txt: deno task docs:names", async () => {
  assertEquals(
    await exportedNames(),
    await Deno.readTextFile(EXPORTED_NAMES_FILE),
  );
});

Deno.test("every entrypoint exports ErrorCode, and it is the same one", () => {
  for (const entry of [root, agent, computer, server, testing]) {
    assert(entry.ErrorCode === protocol.ErrorCode);
  }
});

Deno.test("every member of ErrorCode has a sentence", async () => {
  const source = await Deno.readTextFile(
    new URL("../../../protocol/errors.ts", import.meta.url),
  );
  for (const [name, code] of Object.entries(protocol.ErrorCode)) {
    assertMatch(
      source,
      new RegExp(`  /\\*\\* [A-Z].*\\. \\*/\n  ${name}: ${code},`),
    );
  }
});

/** Types of npm packages, which are left to the documentation of those. */
const FOREIGN = ["Hono", "HttpBindings"];

for (const role of ["agent", "computer", "server", "mcp"] as const) {
  Deno.test(`${config.name}/${role} exports the types of its own signatures`, async () => {
    const missing = (await privateTypes(`${role}/mod.ts`))
      // Types within those of the wire are all exported by ./protocol.
      .filter(({ file }) => !file.includes("/protocol/"))
      // Those of an Agent's are all exported by ./agent.
      .filter(({ file }) => role !== "mcp" || !file.includes("/agent/"))
      .filter(({ name }) => !FOREIGN.includes(name));
    assertEquals(missing, []);
  });
}

/** The types that an entrypoint's API names but does not export, and where it names them. */
async function privateTypes(entry: string) {
  const { stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--lint", entry],
    cwd: fileURLToPath(new URL("../../../", import.meta.url)),
    env: { NO_COLOR: "1" },
  }).output();
  const output = new TextDecoder().decode(stderr);
  assert(
    output.includes("Checked 1 file") || output.includes("error["),
    output,
  );
  return parseFindings(output).flatMap(({ rule, file, text }) => {
    const name = /references private type '(\w+)'/.exec(text)?.[1];
    if (rule !== "private-type-ref" || name === undefined) return [];
    return [{ name, file: file.replaceAll("\\", "/") }];
  });
}
