import { assert, assertEquals } from "@std/assert";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { scratch } from "../../support/scratch.ts";

const run = promisify(execFile);

const ENTRY = fileURLToPath(
  new URL("../../../protocol/mod.ts", import.meta.url),
);

/** What no isolate has: modules of Node, the globals of Deno and Node, anything still to import. */
const FOREIGN =
  /["'`]node:|\b(Deno|process)\.|\b(require|import)\(["'`]|^import\b.*/gm;

/** What an isolate has beside the language: nothing of Deno, Node or a page, and no `eval`. */
const ISOLATE = `
for (const name of ["Deno", "process", "Buffer", "window", "document", "fetch"]) {
  delete globalThis[name];
}
globalThis.Function = function () { throw new EvalError("no code from strings"); };
`;

/** Uses a little of everything; prints what came out. */
const USE = `
const { code } = protocol.parseConnectError(new TextEncoder().encode(
  JSON.stringify({ code: 401, message: "no" })));
const uri = protocol.buildWindowUri(protocol.parseWindowUri("window://h/c%2Fd").uri);
const call = protocol.parseToolCallReq({ agent: "a", req_id: "1", computer: "c",
  tool_name: "t", params: {}, timeout: 1 });
console.log(JSON.stringify([Object.keys(protocol).length, code, uri, call.tool_name,
  protocol.isCompatible("0.2.1", protocol.PROTOCOL_VERSION),
  protocol.checkVersion(["x"], "0.2.0").ok,
  protocol.parseMCPServerConfig({ name: "s", type: "http",
    server_parameters: { url: "https://h/mcp" } }).type,
  protocol.parseFinderUri("dpe://h/d/pages/2?limit=3").query.limit]));
`;

async function bundle(folder: string): Promise<string> {
  const file = join(folder, "protocol.js");
  const args = ["bundle", "--quiet", "--minify", "--platform", "browser"];
  await run(Deno.execPath(), [...args, "-o", file, ENTRY]);
  return file;
}

Deno.test("the bundle of protocol/mod.ts has nothing of Node or Deno, and runs in an isolate without permissions", async () => {
  await using folder = await scratch();
  const file = await bundle(folder.path);
  const source = await readFile(file, "utf8");
  assertEquals(source.match(FOREIGN), null);

  await writeFile(join(folder.path, "isolate.js"), ISOLATE);
  const main = join(folder.path, "main.js");
  await writeFile(
    main,
    `import "./isolate.js";\nimport * as protocol from "./protocol.js";\n${USE}`,
  );
  const { stdout, stderr } = await run(
    Deno.execPath(),
    ["run", "--no-prompt", "--no-config", main],
    { env: { NO_COLOR: "1" } },
  );
  assertEquals(stderr, "");
  const [exported, ...used] = JSON.parse(stdout);
  assert(exported > 80, `${exported} names`);
  assertEquals(used, [
    401,
    "window://h/c%2Fd",
    "t",
    true,
    false,
    "streamable",
    3,
  ]);
});
