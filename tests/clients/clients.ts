import { join } from "node:path";
import {
  messagesApi,
  type ModelApi,
  responsesApi,
  type StubModel,
} from "../support/mcp/models.ts";
import type { NpmTools } from "../support/mcp/npm_tools.ts";
import type { pipeCommand } from "../support/mcp/gateway.ts";

/** How a client reaches the office. */
export type Reach = { readonly url: string } | ReturnType<typeof pipeCommand>;

/** A client that has one turn, with a home folder of its own. */
export interface Client {
  readonly api: ModelApi;
  start(
    tools: NpmTools,
    home: string,
    model: StubModel,
    reach: Reach,
  ): Promise<ReturnType<NpmTools["start"]>>;
}

/** What the tool is asked to say. */
export const SAID = "said through the office";

/** Claude Code. */
export const claude: Client = {
  api: messagesApi("mcp__office__pc__echo", { text: SAID }),
  start: async (tools, home, model, reach) => {
    const config = join(home, "mcp.json");
    const office = "url" in reach ? { type: "http", ...reach } : reach;
    await Deno.writeTextFile(
      config,
      JSON.stringify({ mcpServers: { office } }),
    );
    return tools.start("claude", [
      ...["-p", "go", "--output-format", "stream-json", "--verbose"],
      ...["--mcp-config", config, "--strict-mcp-config"],
      ...["--allowedTools", "mcp__office__*"],
    ], {
      cwd: home,
      env: claudeEnv(home, model),
    });
  },
};

/** Codex. */
export const codex: Client = {
  api: responsesApi("pc__echo", { text: SAID }, "mcp__office"),
  async start(tools, home, model, reach) {
    await configureCodex(home, model, reach);
    return tools.start("codex", ["exec", "--skip-git-repo-check", "go"], {
      cwd: home,
      env: codexEnv(home),
    });
  },
};

/** Writes what Codex has as configuration. */
export async function configureCodex(
  home: string,
  model: Pick<StubModel, "url">,
  reach: Reach,
): Promise<void> {
  const settings = Object.entries({
    ...reach,
    default_tools_approval_mode: "approve",
  });
  const lines = [
    `model = "stub"`,
    `model_provider = "stub"`,
    `[model_providers.stub]`,
    `name = "stub"`,
    `base_url = "${model.url}/v1"`,
    `wire_api = "responses"`,
    `[mcp_servers.office]`,
    // As docs/mcp.md says: Codex passes little of its environment on, and asks its model a second
    // after it has started a server, with or without its tools.
    ...("command" in reach
      ? [`env_vars = ["DENO_DIR"]`, "required = true"]
      : []),
    // JSON's strings and lists are TOML's too.
    ...settings.map(([name, value]) => `${name} = ${JSON.stringify(value)}`),
  ];
  await Deno.writeTextFile(join(home, "config.toml"), lines.join("\n"));
}

/** The environment of Claude Code. */
export const claudeEnv = (
  home: string,
  { url }: Pick<StubModel, "url">,
): Record<string, string> => ({
  ...offline(home),
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_API_KEY: "x",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
});

/** The environment of Codex. */
export const codexEnv = (home: string): Record<string, string> => ({
  ...offline(home),
  CODEX_HOME: home,
});

/** What keeps a client to this machine and to its folder. */
const offline = (home: string) => ({
  HOME: home,
  ...DENO_CACHE,
  NO_PROXY: "127.0.0.1",
});

/** What Deno needs to find its cache where the home folder is another. */
const DENO_CACHE = {
  DENO_DIR: Deno.env.get("DENO_DIR") ??
    join(Deno.env.get("HOME") ?? "", ".cache", "deno"),
};
