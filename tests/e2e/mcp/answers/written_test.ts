import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import type { ConnectionOptions } from "../../../../client/options.ts";
import type { SmcpComputer } from "../../../../computer/mod.ts";
import { DENO_ENV } from "../../../support/computer/mcp_servers.ts";
import { startGateway } from "../../../support/mcp/gateway.ts";
import { OFFICE } from "../../../support/office.ts";
import { RawWebSocket } from "../../../support/wire/raw_websocket.ts";
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

/** How the Computer connects. */
const CONNECTIONS: Record<string, Partial<ConnectionOptions>> = {
  "in the process": {},
  "over a WebSocket": { transports: ["websocket"] },
  "over polling": { transports: ["polling"] },
};

/** Starts an office over MCP whose Computer has the writer. */
async function startWriting({ vrl, connection }: {
  readonly vrl?: string;
  readonly connection?: Partial<ConnectionOptions> | undefined;
} = {}) {
  const served = await startGateway({
    servers: { w: writer(vrl) },
    ...(connection && { computer: connection }),
  });
  const write = await writeBy(served.url, "pc__write");
  return {
    computer: served.computer as SmcpComputer,
    write,
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

/** Returns a function that calls a tool by clients of all kinds, and returns the text of each answer. */
async function writeBy(url: URL, name: string) {
  const sessionOf = async (capabilities: string) => {
    const body = INITIALIZE.replace('"capabilities":{}', capabilities);
    const { headers } = await post(url, { body });
    return { "mcp-session-id": String(headers["mcp-session-id"]) };
  };
  const sessions = [
    await sessionOf('"capabilities":{}'),
    await sessionOf('"capabilities":{"elicitation":{}}'),
  ];
  return async (json: string): Promise<string[]> => {
    const params = { name, arguments: { json } };
    const body = message(7, "tools/call", params);
    const answers = await Promise.all([
      ...sessions.map((headers) => post(url, { body, headers })),
      post(url, modernRequest("tools/call", params)),
    ]);
    for (const { status, headers, body } of answers) {
      assertEquals(status, 200, body);
      const length = new TextEncoder().encode(body).length;
      assertEquals(headers["content-length"], `${length}`);
    }
    return answers.map(({ body }) => body);
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

const block = `"type":"text","text":"${long(10_000)}"`;
const content = JSON.parse(`[{${block}}]`);

/** Results that JSON readers agree about. */
const CLEAR: readonly string[] = [
  `{"content":[{${block}}]}`,
  `{"content":[{"type": "text", "text":"${long(1_000_000)}"}]}`,
  `{ "isError" : false, "content" : [ {${block}} , {"type": "text", "text":"b"} ] }`,
  `{"structuredContent":{"n":[1e2,1.50,-0],"é":"\\u00e9"},"content":[{${block}}]}`,
  `{"content":[{"data":"${
    "QUJD".repeat(3_000)
  }","type":"image","mimeType":"image/png"}]}`,
];

/** Those that they do not, and what clients get. */
const UNCLEAR: readonly (readonly [json: string, expected: object])[] = [
  [`{"content":[],"content":[{${block}}]}`, { content }],
  [
    `{"content":[{${block}}],"structuredContent":{"n":1e400}}`,
    { content, structuredContent: { n: null } },
  ],
];

for (const [how, connection] of Object.entries(CONNECTIONS)) {
  Deno.test(`a long result reaches clients of all kinds as its MCP server has written it, of a Computer ${how}`, async () => {
    await using writing = await startWriting({ connection });
    for (const json of CLEAR) {
      for (const answer of await writing.write(json)) {
        assert(answer.includes(json.slice(1)), answer.slice(0, 200));
        assertEquals(resultIn(answer), JSON.parse(json));
      }
    }
  });

  Deno.test(`a result that the Computer or the office changes, or whose text is unclear, is written anew, of a Computer ${how}`, async () => {
    await using writing = await startWriting({ connection });
    const rows: [json: string, expected: object][] = [
      ...UNCLEAR.map(([json, expected]): [string, object] => [json, expected]),
      [`{"content":[{${block},"annotations":null}]}`, { content }],
      [`{"content":[{${block},"meta":null}]}`, { content }],
      [
        `{"content":[{${block}}],"_meta":{"a":1}}`,
        { content, _meta: { a: 1 } },
      ],
    ];
    for (const [json, expected] of rows) {
      for (const answer of await writing.write(json)) {
        assert(!answer.includes(json.slice(1)), json.slice(-100));
        assertEquals(resultIn(answer), expected, json.slice(-100));
      }
    }
  });
}

Deno.test("a long result with a number of very many digits reaches clients, and its Computer stays in the office", async () => {
  const connection = CONNECTIONS["over a WebSocket"];
  await using writing = await startWriting({ connection });
  const numbers = [...Array(100).fill(1), 2n ** 256n].join();
  const text = "x".repeat(1_100_000);
  const json =
    `{"content":[{"type":"text","text":"${text}"}],"structuredContent":{"n":[${numbers}]}}`;
  for (const answer of await writing.write(json)) {
    const { structuredContent } = resultIn(answer);
    assertEquals(structuredContent, JSON.parse(json).structuredContent);
  }
});

/** Answers the requests to a Computer "raw" until its connection ends, calls with the text that they have. */
async function answerRequests(raw: RawWebSocket): Promise<void> {
  const tool = {
    name: "write",
    description: "",
    params_schema: { type: "object" },
    return_schema: null,
  };
  for (;;) {
    const packet = await raw.text("42/smcp,");
    const [, id, args] = /^42\/smcp,(\d+)(.*)$/.exec(packet) ?? [];
    if (id === undefined) continue;
    const [event, payload] = JSON.parse(String(args));
    const answer = event === "client:tool_call"
      ? payload.params.json
      : event === "client:get_tools"
      ? JSON.stringify({ tools: [tool], req_id: payload.req_id })
      : '{"code":404,"message":"unknown"}';
    raw.send(`43/smcp,${id}[${answer}]`);
  }
}

Deno.test("a long result of a Computer that is not ours passes as it wrote it where readers of JSON agree, else anew", async () => {
  await using served = await startGateway();
  const { port } = new URL(served.office.url);
  await using raw = await RawWebSocket.connect(Number(port));
  const seat = { role: "computer", name: "raw", office_id: OFFICE };
  raw.send(`42/smcp,0["server:join_office",${JSON.stringify(seat)}]`);
  await raw.text("43/smcp,0[true");
  answerRequests(raw).catch(() => {}); // its connection ends with the test
  const write = await writeBy(served.url, "raw__write");
  for (const json of CLEAR) {
    for (const answer of await write(json)) {
      assert(answer.includes(json.slice(1)), answer.slice(0, 200));
    }
  }
  for (const [json, expected] of UNCLEAR) {
    for (const answer of await write(json)) {
      assert(!answer.includes(json.slice(1)), json.slice(-100));
      assertEquals(resultIn(answer), expected, json.slice(-100));
    }
  }
  for (const meta of ['"_meta":{"a":1}', '"\\u005fmeta":{"a":1}']) {
    const json = `{${meta},"content":[{${block}}]}`;
    const answers = await write(json);
    for (const answer of answers) {
      assertEquals(resultIn(answer), JSON.parse(json), answer.slice(0, 200));
    }
    const { _meta } = JSON.parse(String(answers.at(-1))).result;
    const names = ["a", "io.modelcontextprotocol/serverInfo"];
    assertEquals(Object.keys(_meta).sort(), names, "none is given twice");
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
  await using writing = await startWriting({ vrl: '. = { "added": 1 }' });
  const json = `{"content":[{"type":"text","text":"${long(10_000)}"}]}`;
  for (const answer of await writing.write(json)) {
    const { content, _meta } = resultIn(answer);
    assertEquals(content, JSON.parse(json).content);
    assert(JSON.stringify(_meta).includes("added"), JSON.stringify(_meta));
  }
});
