/**
 * MCP Apps: the pages of published MCP servers, one of them an example of the extension itself, are the same through
 * an office as directly, also where two Computers have the same MCP server.
 *
 * @module
 */
import type { Client } from "@modelcontextprotocol/client";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { mcpGateway } from "../../mcp/mod.ts";
import { UI_CAPABILITY, UI_EXTENSION } from "../../protocol/mcp/apps.ts";
import { ERAS, sdkClient } from "../support/mcp/clients.ts";
import { OFFICE, startOffice } from "../support/office.ts";
import { findNpmServers, serversWithPages } from "./servers.ts";

const servers = serversWithPages(await findNpmServers());

/** A tool's page: its metadata, and that of the resource. */
interface Page {
  readonly uri: string;
  readonly mimeType: unknown;
  readonly text: string;
  readonly meta: unknown;
}

/** Reads the pages of all tools that have some, by the name that begins with the place of the tool. */
async function pagesOf(client: Client): Promise<Map<string, Page>> {
  const { tools } = await client.listTools();
  const pages = new Map<string, Page>();
  for (const { name, _meta } of tools) {
    const uri: unknown = Object(Object(_meta).ui).resourceUri;
    if (typeof uri !== "string") continue;
    // As hosts of the extension require it.
    assertMatch(uri, /^ui:\/\//, name);
    const { contents: [contents] } = await client.readResource({ uri });
    assertEquals(contents?.uri, uri, name);
    const { mimeType, text, _meta: meta } = Object(contents);
    pages.set(name, { uri, mimeType, text, meta });
  }
  return pages;
}

for (const era of ERAS) {
  Deno.test(`${era}: pages of published MCP servers are the same through an office as directly`, async (t) => {
    await using office = await startOffice({
      server: { gateway: mcpGateway(), protocol: "0.4" },
    });
    for (const { name, settings } of servers) {
      for (const computer of [name, `${name}-2`]) {
        await office.addComputer(computer, { servers: { [name]: settings } });
      }
    }
    await office.agent.leave();
    const url = new URL(`/mcp/${OFFICE}`, office.url);
    await using client = await sdkClient({ url }, era);
    const { extensions } = client.getServerCapabilities() ?? {};
    assertEquals<unknown>(extensions?.[UI_EXTENSION], UI_CAPABILITY);
    const here = await pagesOf(client);
    const uris = new Set([...here.values()].map(({ uri }) => uri));
    const { resources } = await client.listResources();
    for (const { name, settings } of servers) {
      await t.step(name, async () => {
        const { command, args = [], env } = settings.server_parameters;
        const reach = { command, args: args ?? [], env: env ?? {} };
        await using own = await sdkClient(reach, "2025");
        const pages = await pagesOf(own);
        assert(pages.size > 0);
        for (const [tool, page] of pages) {
          for (const computer of [name, `${name}-2`]) {
            const found = here.get(`${computer}__${tool}`);
            assert(found, tool);
            assertEquals({ ...found, uri: page.uri }, page);
            assertEquals(found.mimeType, "text/html;profile=mcp-app");
            assertMatch(found.text, /<html/i);
            assert(resources.some(({ uri }) => uri === found.uri), found.uri);
          }
        }
      });
    }
    // Those of two Computers are two, though their MCP server is the same.
    assert(uris.size >= 2 * servers.length);
  });
}
