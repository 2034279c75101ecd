import { assertEquals } from "@std/assert";
import { toMcpTool } from "../../../../mcp/tools/tool.ts";

const shown = {
  name: "laptop__read",
  computer: "laptop",
  naming: true,
  lenient: false,
};

Deno.test("toMcpTool() keeps schemas, annotations and metadata, and says where the tool runs", () => {
  const schema = { type: "object", properties: { path: {} }, $defs: {} };
  const output = { type: "object", properties: { lines: {} } };
  assertEquals(
    toMcpTool({
      name: "read",
      description: "Reads a file",
      params_schema: schema,
      return_schema: output,
      meta: {
        MCP_TOOL_ANNOTATION: JSON.stringify({
          title: "Read",
          readOnlyHint: true,
        }),
        a2c_tool_meta: JSON.stringify({ tags: ["files"], alias: null }),
        a2c_mcp_server: "fs",
        "anthropic/alwaysLoad": true,
        "anthropic/maxResultSizeChars": 500_000,
        ui: JSON.stringify({ resourceUri: "ui://read" }),
        note: "[not JSON",
      },
    }, shown),
    {
      name: "laptop__read",
      title: "Read (laptop)",
      description: "[laptop] Reads a file",
      inputSchema: { ...schema, type: "object" },
      outputSchema: output,
      annotations: { title: "Read", readOnlyHint: true },
      _meta: {
        "anthropic/alwaysLoad": true,
        "anthropic/maxResultSizeChars": 500_000,
        ui: { resourceUri: "ui://read" },
        note: "[not JSON",
        "a2c-smcp/computer": "laptop",
        "a2c-smcp/tool": "read",
        "a2c-smcp/mcp_server": "fs",
        "a2c-smcp/tags": ["files"],
      },
    },
  );
});

Deno.test("toMcpTool() takes what little an older Computer sends, and what a later one sends more", () => {
  const bare = {
    name: "x",
    description: "",
    params_schema: {},
    return_schema: null,
  };
  assertEquals(toMcpTool(bare, { ...shown, name: "laptop__x" }), {
    name: "laptop__x",
    description: "[laptop]",
    inputSchema: { type: "object" },
    _meta: { "a2c-smcp/computer": "laptop", "a2c-smcp/tool": "x" },
  });
  const icons = [{ src: "https://x.example/icon.png", theme: "odd" }];
  const later = { ...bare, title: "An X", icons };
  const tool = toMcpTool(later, { ...shown, naming: false });
  assertEquals([tool.title, tool.description], ["An X", ""]);
  assertEquals(tool.icons, [{ src: "https://x.example/icon.png" }]);
});

Deno.test("toMcpTool() leaves out the output schema where lenient", () => {
  const tool = toMcpTool({
    name: "x",
    description: "",
    params_schema: {},
    return_schema: { type: "object" },
  }, { ...shown, lenient: true });
  assertEquals("outputSchema" in tool, false);
});
