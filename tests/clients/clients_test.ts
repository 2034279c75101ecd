/**
 * Claude Code and Codex, as npm has them, with models of our own: each calls a tool of a Computer over
 * HTTP and through `smcp-agent mcp`.
 *
 * Not part of the continuous integration: the packages have 400 MB, and follow no version of ours.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { startHostGateway } from "../support/mcp/host_gateway.ts";
import { type NpmTools, realClients } from "../support/mcp/npm_tools.ts";
import { pipeCommand } from "../support/mcp/pipe.ts";
import { scratch } from "../support/scratch.ts";
import { anthropicApi, openaiApi } from "./models.ts";
import { startModel, type StubModel } from "./stub_model.ts";

/** How a client reaches the office. */
type Reach = { readonly url: string } | ReturnType<typeof pipeCommand>;

/** A client that has one turn, with a home folder of its own. */
interface Client {
  readonly api: Parameters<typeof startModel>[0];
  start(
    tools: NpmTools,
    home: string,
    model: StubModel,
    reach: Reach,
  ): Promise<ReturnType<NpmTools["start"]>>;
}

const SAID = "said through the office";

const claude: Client = {
  api: anthropicApi("mcp__office__pc__echo", { text: SAID }),
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
      env: {
        ...offline(home),
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: "x",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      },
    });
  },
};

const codex: Client = {
  api: openaiApi("mcp__office", "pc__echo", { text: SAID }),
  start: async (tools, home, model, reach) => {
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
      // Codex passes little of its environment on.
      ...("command" in reach ? [`env_vars = ["DENO_DIR"]`] : []),
      // JSON's strings and lists are TOML's too.
      ...settings.map(([name, value]) => `${name} = ${JSON.stringify(value)}`),
    ];
    await Deno.writeTextFile(join(home, "config.toml"), lines.join("\n"));
    return tools.start("codex", ["exec", "--skip-git-repo-check", "go"], {
      cwd: home,
      env: { ...offline(home), CODEX_HOME: home },
    });
  },
};

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

for (const [name, client] of Object.entries({ claude, codex })) {
  for (const kind of ["http", "stdio"] as const) {
    Deno.test({
      name: `${name} calls a tool of a Computer through ${kind}`,
      timeout: 180_000,
    }, async () => {
      const tools = await realClients();
      await using home = await scratch();
      await using office = await startHostGateway();
      await using model = await startModel(client.api);
      const reach = kind === "http"
        ? { url: office.url.href }
        : pipeCommand(office.url);
      await using running = await client.start(tools, home.path, model, reach);
      const { code } = await running.status;
      const output = running.lines.join("\n");
      assertEquals(code, 0, output);
      assertStringIncludes(model.results[0] ?? "", SAID, output);
    });
  }
}
