import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import type { SmcpComputer } from "../../../../computer/mod.ts";
import { DENO_ENV } from "../../../support/computer/mcp_servers.ts";
import { startGateway } from "../../../support/mcp/gateway.ts";
import {
  INITIALIZE,
  message,
  modernRequest,
  post,
} from "../../../support/mcp/post.ts";

const WRITER = fileURLToPath(
  new URL("../../../support/mcp/writer_server.ts", import.meta.url),
);

const writer = (vrl?: string) => ({
  type: "stdio" as const,
  server_parameters: {
    command: Deno.execPath(),
    args: ["run", "--quiet", "--no-config", WRITER],
    env: DENO_ENV,
  },
  ...(vrl !== undefined && { vrl }),
});

/** Starts an office over MCP whose Computer has the writer; clients of all kinds call it. */
async function startWriting(vrl?: string) {
  const served = await startGateway({ servers: { w: writer(vrl) } });
  const { url } = served;
  const sessionOf = async (capabilities: string) => {
    const body = INITIALIZE.replace('"capabilities":{}', capabilities);
    const { headers } = await post(url, { body });
    return { "mcp-session-id": String(headers["mcp-session-id"]) };
  };
  const sessions = [
    await sessionOf('"capabilities":{}'),
    await sessionOf('"capabilities":{"elicitation":{}}'),
  ];
  const params = (json: string) => ({
    name: "pc__write",
    arguments: { json },
  });
  return {
    computer: served.computer as SmcpComputer,
    /** Calls it by clients of all kinds; returns the text of each answer. */
    async write(json: string): Promise<string[]> {
      const body = message(7, "tools/call", params(json));
      const answers = await Promise.all([
        ...sessions.map((headers) => post(url, { body, headers })),
        post(url, modernRequest("tools/call", params(json))),
      ]);
      for (const { status, headers, body } of answers) {
        assertEquals(status, 200, body);
        const length = new TextEncoder().encode(body).length;
        assertEquals(headers["content-length"], `${length}`);
      }
      return answers.map(({ body }) => body);
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

/** A text of JSON of about so many bytes, with escapes as few programs write them. */
const long = (length: number) => "\\u0041\\/€😀\\n".repeat(length / 17);

/** The result in an answer, without what the revision of MCP 2026-07-28 adds. */
function resultIn(answer: string): Record<string, unknown> {
  const { result: { _meta, resultType: _, ...result } } = JSON.parse(answer);
  const { "io.modelcontextprotocol/serverInfo": __, ...meta } = Object(_meta);
  return { ...result, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
}

Deno.test("a long result reaches clients of all kinds as its MCP server has written it", async () => {
  await using writing = await startWriting();
  const text = (length: number) => `"type": "text", "text":"${long(length)}"`;
  const results = [
    `{"content":[{${text(10_000)}}]}`,
    `{"content":[{${text(1_000_000)}}]}`,
    `{ "isError" : false, "content" : [ {${text(10_000)}} , {${text(42)}} ] }`,
    `{"structuredContent":{"n":[1e2,1.50,-0],"é":"\\u00e9"},"content":[{${
      text(10_000)
    }}]}`,
    `{"content":[{"data":"${
      "QUJD".repeat(3_000)
    }","type":"image","mimeType":"image/png"}]}`,
  ];
  for (const json of results) {
    for (const answer of await writing.write(json)) {
      assert(answer.includes(json.slice(1)), answer.slice(0, 200));
      assertEquals(resultIn(answer), JSON.parse(json));
    }
  }
});

Deno.test("a result that the Computer or the office changes, or whose text is unclear, is written anew", async () => {
  await using writing = await startWriting();
  const block = `"type":"text","text":"${long(10_000)}"`;
  const [content] = JSON.parse(`[{${block}}]`);
  const rows: [json: string, expected: object][] = [
    [`{"content":[{${block},"annotations":null}]}`, { content: [content] }],
    [`{"content":[{${block},"meta":null}]}`, { content: [content] }],
    [`{"content":[],"content":[{${block}}]}`, { content: [content] }],
    [
      `{"content":[{${block}}],"_meta":{"a":1}}`,
      { content: [content], _meta: { a: 1 } },
    ],
    [
      `{"content":[{${block}}],"structuredContent":{"n":1e400}}`,
      { content: [content], structuredContent: { n: null } },
    ],
  ];
  for (const [json, expected] of rows) {
    for (const answer of await writing.write(json)) {
      assert(!answer.includes(json.slice(1)), json.slice(-100));
      assertEquals(resultIn(answer), expected, json.slice(-100));
    }
  }
});

Deno.test("what a listener of the Computer changes in a long result is changed for clients, too", async () => {
  await using writing = await startWriting();
  writing.computer.on("callEnded", ({ result }) => {
    const [block] = result?.content ?? [];
    if (block?.type === "text") block.text = "withheld";
  });
  const json = `{"content":[{"type":"text","text":"${long(10_000)}"}]}`;
  for (const answer of await writing.write(json)) {
    const content = [{ type: "text", text: "withheld" }];
    assertEquals(resultIn(answer), { content });
  }
});

Deno.test("a long result that a VRL program adds to is written anew", async () => {
  await using writing = await startWriting('. = { "added": 1 }');
  const json = `{"content":[{"type":"text","text":"${long(10_000)}"}]}`;
  for (const answer of await writing.write(json)) {
    const { content, _meta } = resultIn(answer);
    assertEquals(content, JSON.parse(json).content);
    assert(JSON.stringify(_meta).includes("added"), JSON.stringify(_meta));
  }
});
