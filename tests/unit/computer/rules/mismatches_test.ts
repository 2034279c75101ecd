import { assertEquals } from "@std/assert";
import { Server } from "@modelcontextprotocol/sdk/server";
// @ts-types="@modelcontextprotocol/sdk/types"
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { ToolHost } from "../../../../computer/mod.ts";
import {
  type NamedServer,
  ruleMismatches,
} from "../../../../computer/rules/mismatches.ts";
import type { Rule } from "../../../../computer/rules/rules.ts";

const FILES: NamedServer = {
  names: ["files", "npm:files"],
  tools: [
    { names: ["write_file", "write"], arguments: ["path", "content"] },
    { names: ["stat"], arguments: ["path"] },
  ],
};
const OPEN: NamedServer = {
  names: ["shell"],
  tools: [{ names: ["run"], arguments: undefined }],
};
const AWAY: NamedServer = { names: ["mail"], tools: undefined };

Deno.test("a rule that names an MCP server, a tool or an argument which there is not is a problem, with what may be meant", () => {
  const rows: [rule: Partial<Rule>, servers: NamedServer[], found?: string][] =
    [
      [
        { server: "fiels" },
        [FILES],
        'no MCP server is called "fiels", so that it matches nothing; did you mean "files"?',
      ],
      [
        { tool: "wirte_file" },
        [FILES, OPEN],
        'no tool is called "wirte_file", so that it matches nothing; did you mean "write_file"?',
      ],
      [
        { server: "files", tool: "run" },
        [FILES, OPEN],
        'no tool is called "run", so that it matches nothing; correct or remove it',
      ],
      [
        { tool: "write", when: { pth: { under: "/etc" } } },
        [FILES],
        'no tool of it has the argument "pth", so that it matches nothing; did you mean "path"?',
      ],
      [
        { file: { path: "path", content: "contents", under: "/srv" } },
        [FILES],
        'no tool of it has the argument "contents", so that it matches nothing; did you mean "content"?',
      ],
      // What may be right: with a star, of what is not known, and what takes any argument.
      [{ server: "npm:files", tool: "write" }, [FILES]],
      [{ server: "git*" }, [FILES]],
      [{ tool: "delete_*" }, [FILES]],
      [{ tool: "send" }, [FILES, AWAY]],
      [{ tool: "send", server: "mail" }, [FILES, AWAY]],
      [{ tool: "run", when: { pth: { under: "/etc" } } }, [OPEN]],
      [{ when: { path: { under: "/etc" } } }, [FILES]],
      [{ tool: "send" }, []],
    ];
  for (const [rule, servers, found] of rows) {
    assertEquals(
      ruleMismatches([{ then: "deny", ...rule }], servers),
      found === undefined ? [] : [`rules.0: ${found}`],
      JSON.stringify(rule),
    );
  }
});

Deno.test("status() has the rules that match nothing, once all MCP servers they could be about run", async () => {
  const server = new Server({ name: "files", version: "1" }, {
    capabilities: { tools: {} },
  });
  const text = { type: "string" };
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [
      { name: "echo", inputSchema: { type: "object", properties: { text } } },
      {
        name: "any",
        inputSchema: {
          type: "object",
          properties: { text },
          additionalProperties: text,
        },
      },
      {
        name: "either",
        inputSchema: {
          type: "object",
          properties: { text },
          anyOf: [{ properties: { other: text } }],
        },
      },
    ],
  }));
  const when = { txt: { equals: "x" } };
  await using host = new ToolHost({
    servers: {
      files: {
        type: "in-process",
        server,
        tool_meta: { echo: { alias: "say" } },
      },
    },
    rules: [
      { then: "deny", tool: "ecko", reason: "no" },
      { then: "deny", tool: "say", when },
      { then: "deny", tool: "any", when },
      { then: "deny", tool: "either", when },
      { then: "deny", tool: "echo", when: { text: { equals: "x" } } },
    ],
  });
  assertEquals(host.status().problems, []);
  await host.start();
  assertEquals(host.status().problems, [
    'rules.0: no tool is called "ecko", so that it matches nothing; did you mean "echo"?',
    'rules.1: no tool of it has the argument "txt", so that it matches nothing; did you mean "text"?',
  ]);
});
