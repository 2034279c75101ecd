import { assertEquals } from "@std/assert";
import { everything } from "../../support/computer/mcp_servers.ts";
import {
  CLIENTS,
  connectV1,
  type SeenTool,
  type TestClient,
} from "../../support/mcp/clients.ts";
import { serveOffice } from "../../support/mcp/office.ts";

/** Calls that need nothing of the client, and give the same each time. */
const CALLS: readonly [name: string, args: Record<string, unknown>][] = [
  ["echo", { message: "hello" }],
  ["get-sum", { a: 2, b: 3 }],
  ["get-tiny-image", {}],
  ["get-structured-content", { location: "Chicago" }],
  ["get-annotated-message", { messageType: "error", includeImage: true }],
  ["get-resource-links", { count: 2 }],
];

/** What is equal whether a client is connected to the MCP server or to the office. */
const comparable = (
  { name, title, description, icons, inputSchema, outputSchema, annotations }:
    SeenTool,
) => ({
  name,
  title,
  icons: asObject(icons),
  description,
  inputSchema: asObject(inputSchema),
  outputSchema: asObject(outputSchema),
  annotations: asObject(annotations),
});

/** Without the order of fields. */
const asObject = (value: unknown) =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value));

async function contentOf(client: TestClient, [name, args]: typeof CALLS[0]) {
  const { content, structuredContent, isError } = await client.call(name, args);
  return { content, structuredContent, isError };
}

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: the reference server is the same through an office as directly`, async () => {
    await using office = await serveOffice({
      servers: { all: everything() },
      mcp: { computer: "pc" },
    });
    const { command, args, env } = everything().server_parameters;
    // Some tools are offered to clients that answer questions only, as a Computer does.
    await using direct = await connectV1({
      command,
      args: args ?? [],
      env: env ?? {},
    }, () => ({ action: "decline" }));
    await using bridged = await connect(office);
    const theirs = (await direct.tools()).map(comparable);
    const ours = (await bridged.tools()).map(comparable);
    assertEquals(ours, theirs);
    for (const call of CALLS) {
      assertEquals(
        await contentOf(bridged, call),
        await contentOf(direct, call),
        call[0],
      );
    }
  });
}
