import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createMetaServer } from "../../support/fixtures/meta_server.ts";
import { startModernHttp } from "../../support/fixtures/modern_server.ts";
import { CLIENTS, ERAS, sdkClient } from "../../support/mcp/clients.ts";
import { serveOffice } from "../../support/mcp/gateway.ts";

const servers = () => ({
  meta: {
    type: "in-process" as const,
    server: createMetaServer(),
    default_tool_meta: { auto_apply: true },
  },
});

for (const era of ERAS) {
  Deno.test(`${era}: _meta of a client's call reaches the MCP server, without the keys of MCP and of ours`, async () => {
    await using office = await serveOffice({ servers: servers() });
    await using client = await sdkClient(office, era);
    const traceparent =
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const given = {
      traceparent,
      tracestate: "a=b",
      baggage: "c=d",
      "com.example/x": { deep: [1] },
    };
    const { content } = await client.callTool({
      name: "pc__meta",
      arguments: {},
      _meta: {
        ...given,
        "io.modelcontextprotocol/x": 1,
        "a2c-smcp/offices": ["elsewhere"],
        "a2c-smcp/other": 1,
      },
    });
    const [block] = content;
    assert(block?.type === "text");
    const { "a2c-smcp/offices": offices, ...meta } = JSON.parse(block.text);
    assertEquals(meta, given);
    assertEquals(offices[0], "elsewhere");
  });

  Deno.test(`${era}: a call with more _meta than goes with it fails with its name, and does not run`, async () => {
    await using office = await serveOffice({ servers: servers() });
    await using client = await sdkClient(office, era);
    const { content, isError, _meta } = await client.callTool({
      name: "pc__meta",
      arguments: {},
      _meta: { large: "é".repeat(4_096) },
    });
    assertEquals([isError, _meta?.error_code], [true, 400]);
    const [block] = content;
    assert(block?.type === "text");
    assertStringIncludes(block.text, "_meta of the call is too large");
  });
}

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: a page that an MCP server of 2026-07-28 asks to open is asked for at the client, and so is a form`, async () => {
    await using server = await startModernHttp();
    await using office = await serveOffice({
      servers: {
        new: {
          type: "streamable",
          server_parameters: { url: server.url },
          default_tool_meta: { auto_apply: true },
        },
      },
    });
    const asked: string[] = [];
    await using client = await connect(office, (message) => {
      asked.push(message);
      return { action: "accept", content: { name: "Ann" } };
    });
    for (const tool of ["pc__page", "pc__ask"]) {
      const { content } = await client.call(tool);
      assertStringIncludes(String(content[0]?.text), '"accept"');
    }
    assertEquals(asked, ["Sign in", "Who are you?"]);
  });
}
