/**
 * The examples of `examples/mcp`, as somebody copies and starts them, with models of our own: each
 * calls a tool of a Computer, and answers with its result.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { notes } from "../../examples/notes.ts";
import { findNode } from "../../tools/npm/node.ts";
import { run } from "../../tools/process.ts";
import { start } from "../support/child.ts";
import {
  FRAMEWORKS,
  IN_PROCESS,
  installFrameworks,
  installInProcess,
  pythonFrameworks,
} from "./frameworks.ts";
import { GATEWAY_KEYS, startGateway } from "../support/mcp/gateway.ts";
import {
  type ApiMaker,
  completionsApi,
  messagesApi,
  responsesApi,
  startModel,
} from "../support/mcp/models.ts";
import { modernRequest, post } from "../support/mcp/post.ts";
import { OFFICE } from "../support/office.ts";
import { scratch } from "../support/scratch.ts";

/** The API that each example uses of its model. */
const EXAMPLES: Readonly<Record<string, ApiMaker>> = {
  "ai_sdk.ts": responsesApi,
  "openai_agents.ts": responsesApi,
  "langchain.ts": completionsApi,
  "anthropic.ts": messagesApi,
  "fastmcp_openai.py": responsesApi,
};

const isScript = (file: string) => file.endsWith(".ts");

/** A copy of the examples, and who uses it. */
interface Copy {
  readonly folder: string;
  /** Of the office. */
  readonly url: URL;
  /** The key for the office; an open one needs none. */
  readonly key: string | undefined;
}

/** Runs an example whose model wants to add a note; returns what it prints. */
async function outputOf(
  { folder, url, key }: Copy,
  command: readonly string[],
  api: ApiMaker,
  note: { readonly text?: string },
): Promise<string> {
  await using model = await startModel(api("pc__add_note", note));
  const [program = "", ...args] = command;
  await using example = start(program, [...args, "Note", "that."], {
    cwd: folder,
    env: {
      OFFICE_URL: url.href,
      ...(key !== undefined && { SMCP_API_KEY: key }),
      ANTHROPIC_API_KEY: "x",
      ANTHROPIC_BASE_URL: model.url,
      OPENAI_API_KEY: "x",
      OPENAI_BASE_URL: `${model.url}/v1`,
      OPENAI_AGENTS_DISABLE_TRACING: "1",
      NO_PROXY: "127.0.0.1",
    },
  });
  const { code } = await example.status;
  const output = example.lines.join("\n");
  assertEquals(code, 0, output);
  assertEquals(model.results.length, 1, output);
  return output;
}

/** The notes that the Computer's window shows. */
async function notesOf({ url, key = "" }: Copy): Promise<string[]> {
  const { headers, body } = modernRequest("resources/read", {
    uri: "a2c://pc/desktop",
  });
  const answer = await post(url, {
    headers: { ...headers, authorization: `Bearer ${key}` },
    body,
  });
  const [desktop] = JSON.parse(answer.body).result.contents;
  return String(desktop.text).match(/(?<=^- ).*$/gm) ?? [];
}

const SLOW = { timeout: 240_000 };

Deno.test({
  name: "the examples with frameworks type-check",
  ...SLOW,
}, async () => {
  await using copy = await scratch();
  await installFrameworks(copy.path);
  const files = Object.keys(EXAMPLES).filter(isScript);
  await run("deno", ["check", "--frozen", ...files], copy.path);
});

Deno.test("every example with a framework is tested, and installed in exact versions", async () => {
  const files = await Array.fromAsync(Deno.readDir(FRAMEWORKS));
  const examples = files.map(({ name }) => name)
    .filter((name) => /\.(ts|py)$/.test(name));
  assertEquals(examples.sort(), Object.keys(EXAMPLES).sort());
  const { dependencies } = JSON.parse(
    await Deno.readTextFile(join(FRAMEWORKS, "package.json")),
  );
  for (const version of Object.values(dependencies)) {
    assertMatch(String(version), /^\d+\.\d+\.\d+$/);
  }
});

const python = await pythonFrameworks();
if (python === undefined) console.log("SKIPPED: python3 is not installed");

/** Where the examples run: in each runtime, and with and without a key. */
const PLACES = {
  "Deno, in an open office": {
    script: () => Promise.resolve([Deno.execPath(), "run", "-A", "--frozen"]),
    key: undefined,
  },
  "Node, in an office with API keys": {
    script: async () => [await findNode(24)],
    key: GATEWAY_KEYS.bob,
  },
};

for (const [place, { script, key }] of Object.entries(PLACES)) {
  Deno.test({
    name: `the examples with frameworks call a tool of a Computer, in ${place}`,
    ...SLOW,
  }, async (t) => {
    await using folder = await scratch();
    await installFrameworks(folder.path);
    await using office = await startGateway({
      servers: { notes },
      keys: key !== undefined,
    });
    const copy = { folder: folder.path, url: office.url, key };
    const written: string[] = [];
    for (const [file, api] of Object.entries(EXAMPLES)) {
      const command = isScript(file) ? await script() : [python ?? ""];
      await t.step({
        name: file,
        ignore: command.includes(""),
        fn: async () => {
          const text = `written by ${file}`;
          written.push(text);
          const start = [...command, file];
          const output = await outputOf(copy, start, api, { text });
          assertStringIncludes(output, "The tool says ");
          // Only the tool has their number.
          assertStringIncludes(output, `${written.length} notes`);
          // What fails is for the model to read, and ends nothing.
          const failed = await outputOf(copy, start, api, {});
          assertMatch(failed, /The tool says .*(error|invalid)/is);
          assertEquals(await notesOf(copy), written);
        },
      });
    }
  });
}

Deno.test({
  name: "the examples whose client takes a `fetch` need no port, but an Agent",
  ...SLOW,
}, async (t) => {
  await using folder = await scratch();
  await using office = await startGateway({ servers: { notes } });
  await installInProcess(folder.path, office.url.origin, OFFICE);
  const copy = {
    folder: folder.path,
    url: new URL("http://office.invalid/mcp"), // there is no such host
    key: undefined,
  };
  for (const [index, file] of IN_PROCESS.entries()) {
    await t.step(file, async () => {
      const command = [Deno.execPath(), "run", "-A", file];
      const api = EXAMPLES[file];
      assert(api);
      const output = await outputOf(copy, command, api, { text: file });
      assertStringIncludes(output, "The tool says ");
      assertStringIncludes(output, `${index + 1} notes`);
    });
  }
});

Deno.test({
  name: "the client of the MCP SDK for Python calls a tool with both revisions",
  ignore: python === undefined,
  ...SLOW,
}, async () => {
  await using office = await startGateway({ servers: { notes } });
  const script = fileURLToPath(
    new URL("../support/fixtures/python_mcp_client.py", import.meta.url),
  );
  const said: string[] = [];
  for (const mode of ["auto", "legacy"]) {
    const args = [script, office.url.href, mode, mode];
    await using client = start(python ?? "", args);
    const { code } = await client.status;
    assertEquals(code, 0, client.lines.join("\n"));
    said.push(...client.lines);
  }
  assertEquals(said, [
    "pc__add_note 1 notes 2026-07-28",
    "pc__add_note 2 notes 2025-11-25",
  ]);
});
