import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ServerSettings } from "../../../../computer/mod.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { scratch } from "../../../support/scratch.ts";
import { startFilesServer, startVaultServer } from "./http_servers.ts";
import { LONG_TEXT, SCRIPT, skillText } from "./skill_files.ts";

/** A window on the Computer's desktop. */
export const WINDOW = "window://fixture/board";

/** What a Computer hosts. */
export interface Workplace extends AsyncDisposable {
  /** Its MCP servers: `fixture` over stdio, `My Files` and `Vault` over HTTP. */
  readonly servers: readonly NamedSettings[];
  /** The folder of its skills. */
  readonly skillHome: string;
  /** The folder for files of Agents. */
  readonly landingRoot: string;
  /** Adds a skill to those of its user. */
  addSkill(name: string, files?: Record<string, string>): Promise<void>;
}

/** Prepares one, with the skill `greeting` of its user. */
export async function openWorkplace(): Promise<Workplace> {
  const folder = await scratch();
  const files = await startFilesServer();
  const vault = await startVaultServer();
  const skillHome = join(folder.path, "skills");
  const landingRoot = join(folder.path, "landing");
  await mkdir(landingRoot);
  const place: Workplace = {
    servers: [
      fixtureSettings(),
      httpSettings("My Files", files.url),
      httpSettings("Vault", vault.url),
    ],
    skillHome,
    landingRoot,
    async addSkill(name, files = {}) {
      const skill = join(skillHome, "user", name);
      await mkdir(join(skill, "scripts"), { recursive: true });
      for (const [path, text] of Object.entries(files)) {
        await writeFile(join(skill, path), text);
      }
      // Last: a Computer that watches takes the skill from here on.
      await writeFile(join(skill, "SKILL.md"), skillText(name));
    },
    async [Symbol.asyncDispose]() {
      await files[Symbol.asyncDispose]();
      await vault[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
  await place.addSkill("greeting", {
    "scripts/run.sh": SCRIPT,
    "long.md": LONG_TEXT,
    ".skillenv": "TOKEN=secret\n",
  });
  return place;
}

type NamedSettings = ServerSettings & { name: string };

const httpSettings = (name: string, url: string): NamedSettings => ({
  name,
  type: "streamable",
  default_tool_meta: { auto_apply: true }, // there is no user to ask
  server_parameters: { url },
});

function fixtureSettings(): NamedSettings {
  const settings = fixture({
    resourceList: [{
      uri: WINDOW,
      name: "board",
      annotations: { priority: 0.5 },
    }],
  });
  return {
    ...settings,
    name: "fixture",
    default_tool_meta: { auto_apply: true },
    forbidden_tools: ["pid"],
    server_parameters: {
      ...settings.server_parameters,
      // Keeps Deno's cache; a puppet has another HOME.
      env: {
        ...settings.server_parameters.env,
        HOME: Deno.env.get("HOME") ?? "",
      },
    },
  };
}
