/**
 * Claude Code and Codex, as npm has them, with models of our own: each calls a tool of a Computer over
 * HTTP and through `smcp-agent mcp`.
 *
 * Not part of the continuous integration: the packages have 400 MB, and follow no version of ours.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { fixtureHere } from "../support/computer/fixture_here.ts";
import { pipeCommand, startGateway } from "../support/mcp/gateway.ts";
import { startModel } from "../support/mcp/models.ts";
import { realClients } from "../support/mcp/npm_tools.ts";
import { scratch } from "../support/scratch.ts";
import { claude, codex, SAID } from "./clients.ts";

for (const [name, client] of Object.entries({ claude, codex })) {
  for (const kind of ["http", "stdio"] as const) {
    Deno.test({
      name: `${name} calls a tool of a Computer through ${kind}`,
      timeout: 180_000,
    }, async () => {
      const tools = await realClients();
      await using home = await scratch();
      await using office = await startGateway({
        servers: { fix: fixtureHere() },
      });
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
