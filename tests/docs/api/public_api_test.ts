import { assert, assertEquals, assertMatch } from "@std/assert";
import { fileURLToPath } from "node:url";
import config from "../../../deno.json" with { type: "json" };
import * as protocol from "../../../protocol/mod.ts";
import {
  announced,
  isTolerated,
  parseFindings,
} from "../../../tools/docs/doc_findings.ts";
import {
  EXPORTED_NAMES_FILE,
  exportedNames,
} from "../../../tools/docs/exported_names.ts";
import { run } from "../../../tools/process.ts";

const folder = fileURLToPath(new URL("../../../", import.meta.url));

Deno.test("the exported names are those of exported_names.txt: deno task docs:names", async () => {
  assertEquals(
    await exportedNames(),
    await Deno.readTextFile(EXPORTED_NAMES_FILE),
  );
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
    cwd: folder,
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

/** Fields of the wire, of the log, of the configuration file, of DPE resolvers (protocol §8.3) and of Hono, and classes. */
const KEPT = [
  ...["api_key", "req_id", "ended_by", "server_parameters", "mime_type"],
  ...["mcp_server_name", "Bindings", "Front", "Office"],
];

const TIME =
  /(timeout|interval|delay|duration|grace|lag|seconds|lifetime|(expires|retry)In)$/i;

Deno.test("options and events of the API are in camelCase, and times end in Ms", async () => {
  const entries = Object.entries(config.exports)
    .filter(([entry, file]) =>
      file.endsWith("/mod.ts") && entry !== "./protocol"
    );
  const found = await Promise.all(
    entries.map(([, file]) => propertiesOf(file)),
  );
  const names = new Set(found.flat());
  const has = (name: string) => names.has(name);
  assert(["timeoutMs", "enterOffice", "serverState"].every(has));
  const odd = [...names].filter((name) =>
    !/^[a-z][A-Za-z0-9]*$/.test(name) && !KEPT.includes(name) || TIME.test(name)
  );
  assertEquals(odd, []);
});

/** The names of all properties that an entrypoint documents, those of the wire's types left out. */
async function propertiesOf(file: string): Promise<string[]> {
  const output: {
    nodes: Record<string, {
      symbols: {
        declarations: { location: { filename: string }; def?: unknown }[];
      }[];
    }>;
  } = JSON.parse(await run("deno", ["doc", "--json", file], folder));
  return Object.values(output.nodes)
    .flatMap(({ symbols }) => symbols.flatMap((each) => each.declarations))
    .filter(({ location }) => !location.filename.includes("/protocol/"))
    .flatMap(({ def }) => namesIn(def));
}

function namesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...key === "properties" && Array.isArray(inner)
      ? inner.map(({ name }) => String(name))
      : [],
    ...namesIn(inner),
  ]);
}

const OUTPUT = `Warning Failed resolving types. Could not find package 'zlib'.
    at file:///cache/index.d.ts:116:21
error[private-type-ref]: public type 'mk' references private type 'Server'
  --> /repo/server/mod.ts:13:1
   | 
13 | export function mk(): Server;
   | ^
   = hint: make the referenced type public or remove the reference
   | 
96 | export declare class Server<
   | - this is the referenced type
   | 

  info: to ensure documentation is complete all types must be public


error[missing-jsdoc]: exported symbol is missing JSDoc documentation
 --> /repo/protocol/mod.ts:2:24
  | 
2 | export interface Pub { q: Priv; 
  |                       ^


error: Found 2 documentation lint errors.
`;

const referenced = { line: 96, text: "export declare class Server<" };
const npmType = { rule: "private-type-ref", referenced };
const missing = { rule: "missing-jsdoc", referenced: undefined };

Deno.test("parseFindings() returns each finding with its rule, file and referenced line", () => {
  const findings = parseFindings(OUTPUT)
    .map(({ rule, file, referenced }) => ({ rule, file, referenced }));
  assertEquals(findings, [
    { ...npmType, file: "/repo/server/mod.ts" },
    { ...missing, file: "/repo/protocol/mod.ts" },
  ]);
  assertEquals([announced(OUTPUT), announced("Checked 5 files\n")], [2, 0]);
});

Deno.test("isTolerated() allows types of npm packages only in roles", () => {
  for (const room of ["server", "agent", "computer"]) {
    assertEquals(isTolerated(npmType, `${room}/mod.ts`, false), true);
    assertEquals(isTolerated(npmType, `${room}/mod.ts`, true), false);
    assertEquals(isTolerated(missing, `${room}/mod.ts`, false), false);
  }
  assertEquals(isTolerated(npmType, "protocol/mod.ts", false), false);
  assertEquals(isTolerated(npmType, "mod.ts", false), false);
});
