/**
 * The Inspector of MCP signs in with nothing but the URL of an office, by its command line.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { login } from "../support/mcp/login.ts";
import { mcpTools } from "../support/mcp/npm_tools.ts";
import { scratch } from "../support/scratch.ts";
import { SignedInServer } from "../support/server/signed_in_server.ts";
import { hasTerminals } from "../support/terminal/terminal.ts";

Deno.test({
  ignore: !hasTerminals,
  name: "the Inspector signs in, and calls a tool, with both revisions",
  timeout: 300_000,
}, async (t) => {
  const tools = await mcpTools();
  await using server = await SignedInServer.start();
  for (const era of ["legacy", "modern"]) {
    await t.step(era, async () => {
      await using home = await scratch();
      const env = {
        HOME: home.path,
        MCP_INSPECTOR_SECRET_STORE: "memory",
        NO_PROXY: "127.0.0.1",
      };
      const words = [
        ...["mcp-inspector", "--cli", `${server.url}/mcp/north`],
        ...["--transport", "http", "--protocol-era", era],
        ...["--callback-url", "http://127.0.0.1:0/oauth/callback"],
        ...["--method", "tools/call", "--tool-name", "pc__echo"],
        ...["--tool-arg", "text=hello", "--format", "json"],
      ];
      const command = { words, cwd: home.path, env };
      const output = await login(
        tools,
        command,
        server,
        async (begun) => {
          const page = await fetch(begun.answer);
          await page.body?.cancel();
          const { code } = await begun.terminal.end;
          const { all } = begun.terminal.screen();
          assertEquals(code, 0, all);
          return all;
        },
      );
      assertStringIncludes(output, "hello");
    });
  }
});
