import { assertNotEquals } from "@std/assert";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { toolsFolder } from "../../tools/npm/node.ts";
import { run } from "../../tools/process.ts";
import { linkPackage } from "../docs/support/home.ts";
import { isInstalled } from "../docs/support/tools.ts";
import { venvWith } from "../interop/support/venv.ts";

/** The folder of the examples with frameworks. */
export const FRAMEWORKS: string = fileURLToPath(
  new URL("../../examples/mcp", import.meta.url),
);

/** Copies the examples into a folder, and installs the packages that they import there. */
export async function installFrameworks(folder: string): Promise<void> {
  await cp(FRAMEWORKS, folder, {
    recursive: true,
    filter: (path) => !path.endsWith("node_modules"),
  });
  await run(
    Deno.execPath(),
    ["install", "--frozen", "--quiet"],
    folder,
    INSTALL_TIMEOUT_MS,
  );
}

/** An Agent and its office as an MCP server, in the words of docs/agent-builders.md. */
const BEFORE = `
import { SmcpAgent } from "@a2c-smcp/sdk/agent";
import { officeMcp } from "@a2c-smcp/sdk/mcp";
const agent = new SmcpAgent({ url: "SERVER", name: "helper" });
await agent.connect();
await agent.join("OFFICE");
await agent.toolsSettled();
const served = officeMcp(agent);
`;
const AFTER = `
await served.close();
await agent.close();
`;

/** The examples whose MCP client takes a `fetch`. */
export const IN_PROCESS = ["ai_sdk.ts", "openai_agents.ts", "anthropic.ts"];

/**
 * Writes examples into a folder in which Deno finds this package and theirs; each is changed so that
 * it uses an office through an Agent of its own.
 *
 * @param server of the office
 */
export async function installInProcess(
  folder: string,
  server = "http://127.0.0.1:8787",
  office = "home",
): Promise<void> {
  await linkPackage(folder);
  const settings = join(folder, "deno.json");
  const config = JSON.parse(await Deno.readTextFile(settings));
  const { dependencies } = JSON.parse(
    await Deno.readTextFile(join(FRAMEWORKS, "package.json")),
  );
  for (const [name, version] of Object.entries(dependencies)) {
    config.imports[name] = `npm:${name}@${version}`;
  }
  await Deno.writeTextFile(settings, JSON.stringify(config));
  const before = BEFORE.replace("SERVER", server).replace("OFFICE", office);
  for (const file of IN_PROCESS) {
    const text = await Deno.readTextFile(join(FRAMEWORKS, file));
    const changed = text.replace(
      /^ +(?:requestInit|headers): /m,
      "fetch: served.fetch, $&",
    );
    assertNotEquals(changed, text);
    await Deno.writeTextFile(join(folder, file), before + changed + AFTER);
  }
  await run(
    Deno.execPath(),
    ["check", "--quiet", ...IN_PROCESS],
    folder,
    INSTALL_TIMEOUT_MS,
  );
}

/** Time limit for an installation over a slow network. */
const INSTALL_TIMEOUT_MS = 1_800_000;

/**
 * Finds Python with the packages of the examples, which it installs once from PyPI.
 *
 * @returns the path of its interpreter; `undefined` where there is no Python
 */
export async function pythonFrameworks(): Promise<string | undefined> {
  if (!await isInstalled("python3")) return undefined;
  const folder = join(toolsFolder(), "mcp-python");
  return await venvWith(folder, join(FRAMEWORKS, "requirements.txt"));
}
