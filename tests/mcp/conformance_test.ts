/**
 * The conformance suite of MCP, against an office whose one Computer has an MCP server with the names
 * that the suite asks for.
 *
 * What the office cannot do is listed in `expected-*.yml`, each with its reason; the suite fails too
 * when something in it works.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { DENO_ENV } from "../support/computer/mcp_servers.ts";
import { serveOffice } from "../support/mcp/office.ts";
import { mcpTools } from "../support/mcp/npm_tools.ts";

const SERVER = fileURLToPath(
  new URL("./conformance/mcp_server.ts", import.meta.url),
);

const REVISIONS = { "2025-11-25": "2025", "2026-07-28": "2026" };

for (const [revision, year] of Object.entries(REVISIONS)) {
  Deno.test({
    name: `the conformance suite of MCP ${revision} finds what is expected`,
    timeout: 180_000,
  }, async () => {
    await using office = await serveOffice({
      servers: {
        conf: {
          type: "stdio",
          server_parameters: {
            command: Deno.execPath(),
            args: ["run", "-A", "--quiet", SERVER],
            env: DENO_ENV,
          },
        },
      },
      mcp: { computer: "pc" },
    });
    const expected = new URL(`./expected-${year}.yml`, import.meta.url);
    const tools = await mcpTools();
    await using suite = tools.start("conformance", [
      ...["server", "--url", office.url.href],
      ...["--requirements", revision],
      ...["--expected-failures", fileURLToPath(expected)],
    ]);
    const { code } = await suite.status;
    assertEquals(code, 0, suite.lines.join("\n"));
  });
}
