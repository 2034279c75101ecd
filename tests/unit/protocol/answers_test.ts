import { assertEquals, assertThrows } from "@std/assert";
import { ProtocolError } from "../../../protocol/errors.ts";
import { CLIENT_EVENTS, SERVER_EVENTS } from "../../../protocol/event_table.ts";
import type { Parser } from "../../../protocol/validation.ts";
import {
  parseEnterOfficeNotification,
  parseLeaveOfficeNotification,
  parseListRoomRet,
} from "../../../protocol/payloads/offices.ts";
import { parseGetToolsRet } from "../../../protocol/payloads/tools.ts";

const TOOL = {
  name: "echo",
  description: "",
  params_schema: { type: "object" },
  return_schema: null,
};
const DOCUMENT = {
  doc_ref: "report",
  uri: "dpe://docs/report",
  file_uri: "file:///report.pdf",
  file_type: "pdf",
  title: "Report",
  page_count: 0,
  server: "docs",
};
const SESSION = {
  sid: "s1",
  name: "laptop",
  role: "computer",
  office_id: "north",
  a2c_version: "0.2.0",
};
const STDIO = {
  name: "files",
  type: "stdio",
  disabled: false,
  forbidden_tools: [],
  tool_meta: {},
  server_parameters: {
    command: "npx",
    args: [],
    env: { TOKEN: "<redacted>" },
    cwd: null,
    encoding: "utf-8",
    encoding_error_handler: "strict",
  },
};

const SKILL = { name: "s", source: "user", path: "/s", description: "d" };

const SKILL_FILE = {
  name: "s",
  rel_path: "SKILL.md",
  mime_type: "text/markdown",
  total_size: 0,
  sha256: "e3b0",
  req_id: "1",
};

const CHUNK = {
  blob_handle: "h",
  mime_type: "image/png",
  total_size: 0,
  sha256: "e3b0",
  chunk_offset: 0,
  eof: true,
  blob: "",
  req_id: "1",
};

/** Answers that a Computer or Server may give, and that pass as they are. */
const GOOD: Readonly<Record<string, readonly object[]>> = {
  "client:tool_call": [
    { content: [] },
    { content: [{ type: "text", text: "hi", annotations: null }] },
    {
      content: [{ type: "hologram", depth: 3 }],
      structuredContent: { a: [1] },
      isError: true,
      meta: { error_code: 4003 },
      _meta: { error_code: 4003 },
      later: "field",
    },
    // What the Python SDK writes.
    { meta: null, content: [], structuredContent: null, isError: false },
  ],
  "client:get_tools": [
    { tools: [], req_id: "1" },
    { tools: [TOOL], req_id: "1", later: 1 },
    {
      tools: [
        {
          ...TOOL,
          return_schema: { type: "object" },
          meta: {
            a2c_tool_meta: '{"alias":null}',
            n: 1.5,
            ok: true,
            none: null,
          },
        },
        { ...TOOL, meta: null },
        { ...TOOL, meta: {} },
      ],
      req_id: "1",
    },
  ],
  "client:get_config": [
    { servers: {} },
    { inputs: null, servers: {} },
    {
      inputs: [{ type: "promptString", id: "key", description: "the key" }],
      servers: { files: STDIO },
    },
  ],
  "client:get_desktop": [
    { desktops: [], req_id: "1" },
    { desktops: ["window://a", "window://b\n\ntext"], req_id: "1" },
  ],
  "client:get_resources": [
    { resources: [], req_id: "1" },
    {
      resources: [
        { uri: "x:y", annotations: { priority: 1.5 }, _meta: { odd: true } },
        {},
        { uri: 7, name: null },
        JSON.parse('{"__proto__":{"uri":"z:z"}}'),
      ],
      next_cursor: "2",
      req_id: "1",
    },
  ],
  "client:get_dpe": [
    { uri: "file:///tmp/a.json", req_id: "1" },
    { uri: "x:y", mime_type: "application/json", size: 0, req_id: "1" },
  ],
  "client:get_finder": [
    { documents: [], total_count: 0, req_id: "1" },
    {
      documents: [DOCUMENT, {
        ...DOCUMENT,
        keywords: ["q1"],
        summary: "s",
        last_modified: "2026-01-15",
      }],
      total_count: 40,
      req_id: "1",
    },
  ],
  "client:read_resource": [
    { contents: [], req_id: "1" },
    {
      contents: [{ uri: "x:y", text: "t", _meta: { odd: true } }, { blob: 7 }],
      req_id: "1",
    },
  ],
  "client:watch_resource": [{ req_id: "1" }],
  "client:get_prompts": [
    { prompts: [], req_id: "1" },
    {
      prompts: [{ name: "p", mcp_server: "s", title: null, arguments: [{}] }],
      req_id: "1",
    },
  ],
  "client:get_prompt": [
    { messages: [], req_id: "1" },
    {
      description: "d",
      messages: [
        { role: "user", content: { type: "text", text: "t" } },
        { role: "assistant", content: { type: "later" }, odd: 1 },
      ],
      req_id: "1",
    },
  ],
  "client:get_skills": [
    { skills: [], req_id: "1" },
    { skills: [SKILL, { ...SKILL, tags: 7, later: 1 }], req_id: "1" },
  ],
  "client:get_skill": [
    { ...SKILL_FILE, body: "" },
    { ...SKILL_FILE, blob_handle: "h", etag: "later" },
  ],
  "client:get_blob": [
    CHUNK,
    { ...CHUNK, total_size: 9, chunk_offset: 8, eof: false, blob: "AA==" },
  ],
  "client:put_blob": [
    { upload_id: "u", chunk_offset: 0, req_id: "1" },
    {
      upload_id: "u",
      chunk_offset: 4000,
      req_id: "1",
      landing_path: "/landing/u_a.txt",
      total_size: 10_000,
      sha256: "ab",
    },
  ],
  "server:list_room": [
    { sessions: [], req_id: "1" },
    { sessions: [SESSION, { ...SESSION, role: "agent" }], req_id: "1" },
  ],
};

/** Answers that no client may take for good, with the field that is at fault. */
const BAD: Readonly<Record<string, readonly [answer: unknown, at: string][]>> =
  {
    "client:tool_call": [
      [{}, "content"],
      [{ content: "text" }, "content"],
      [{ content: [{ text: "no type" }] }, "content.0.type"],
      [{ content: [{ type: "text", text: 1 }] }, "content.0.text"],
      [{ content: [], isError: "yes" }, "isError"],
      [{ content: [], structuredContent: [] }, "structuredContent"],
      [{ content: [], meta: "m" }, "meta"],
      [{ content: [], _meta: [] }, "_meta"],
    ],
    "client:get_tools": [
      [{ req_id: "1" }, "tools"],
      [{ tools: [] }, "req_id"],
      [{ tools: [{ ...TOOL, name: 1 }], req_id: "1" }, "tools.0.name"],
      [
        { tools: [{ ...TOOL, params_schema: null }], req_id: "1" },
        "tools.0.params_schema",
      ],
      [
        { tools: [{ ...TOOL, return_schema: [] }], req_id: "1" },
        "tools.0.return_schema",
      ],
      [
        { tools: [{ ...TOOL, meta: { deep: {} } }], req_id: "1" },
        "tools.0.meta.deep",
      ],
    ],
    "client:get_config": [
      [{}, "servers"],
      [{ servers: [] }, "servers"],
      [{ servers: { a: { type: "ftp" } } }, "servers.a.type"],
      [{ inputs: {}, servers: {} }, "inputs"],
    ],
    "client:get_desktop": [
      [{ req_id: "1" }, "desktops"],
      [{ desktops: [1], req_id: "1" }, "desktops.0"],
    ],
    "client:get_resources": [
      [{ req_id: "1" }, "resources"],
      [{ resources: ["x:y"], req_id: "1" }, "resources.0"],
      [{ resources: [], next_cursor: 2, req_id: "1" }, "next_cursor"],
    ],
    "client:get_dpe": [
      [{ req_id: "1" }, "uri"],
      [{ uri: "", req_id: "1" }, "uri"],
      [{ uri: "x:y", size: -1, req_id: "1" }, "size"],
      [{ uri: "x:y", size: 1.5, req_id: "1" }, "size"],
      [{ uri: "x:y", mime_type: 1, req_id: "1" }, "mime_type"],
    ],
    "client:get_finder": [
      [{ documents: [], req_id: "1" }, "total_count"],
      [{ documents: {}, total_count: 0, req_id: "1" }, "documents"],
      [
        {
          documents: [{ ...DOCUMENT, page_count: "3" }],
          total_count: 1,
          req_id: "1",
        },
        "documents.0.page_count",
      ],
    ],
    "client:read_resource": [
      [{ req_id: "1" }, "contents"],
      [{ contents: ["text"], req_id: "1" }, "contents.0"],
    ],
    "client:watch_resource": [[{}, "req_id"]],
    "client:get_prompts": [
      [{ req_id: "1" }, "prompts"],
      [{ prompts: [{ mcp_server: "s" }], req_id: "1" }, "prompts.0.name"],
      [{ prompts: [{ name: "p" }], req_id: "1" }, "prompts.0.mcp_server"],
    ],
    "client:get_prompt": [
      [{ req_id: "1" }, "messages"],
      [
        { messages: [{ role: "boss", content: { type: "x" } }], req_id: "1" },
        "messages.0.role",
      ],
      [
        { messages: [{ role: "user", content: "text" }], req_id: "1" },
        "messages.0.content",
      ],
    ],
    "client:get_skills": [
      [{ req_id: "1" }, "skills"],
      [{ skills: [{ ...SKILL, path: null }], req_id: "1" }, "skills.0.path"],
      [
        { skills: [{ ...SKILL, description: 1 }], req_id: "1" },
        "skills.0.description",
      ],
    ],
    "client:get_skill": [
      [SKILL_FILE, "payload"],
      [{ ...SKILL_FILE, body: "a", blob_handle: "h" }, "payload"],
      [{ ...SKILL_FILE, body: null }, "body"],
      [{ ...SKILL_FILE, body: "", total_size: -1 }, "total_size"],
    ],
    "client:get_blob": [
      [{ ...CHUNK, eof: 1 }, "eof"],
      [{ ...CHUNK, blob: null }, "blob"],
      [{ ...CHUNK, total_size: 0.5 }, "total_size"],
    ],
    "client:put_blob": [
      [{ chunk_offset: 0, req_id: "1" }, "upload_id"],
      [
        { upload_id: "u", chunk_offset: 0, req_id: "1", landing_path: 1 },
        "landing_path",
      ],
    ],
    "server:list_room": [
      [{ req_id: "1" }, "sessions"],
      [
        { sessions: [{ ...SESSION, role: "boss" }], req_id: "1" },
        "sessions.0.role",
      ],
      [
        { sessions: [{ ...SESSION, a2c_version: null }], req_id: "1" },
        "sessions.0.a2c_version",
      ],
    ],
  };

const PARSERS: Readonly<Record<string, Parser<object>>> = {
  ...Object.fromEntries(
    Object.entries(CLIENT_EVENTS)
      .map(([event, { parseAnswer }]) => [event, parseAnswer]),
  ),
  "server:list_room": parseListRoomRet,
};

Deno.test("every answer of the table has a description here, and the reverse", () => {
  assertEquals(Object.keys(GOOD).sort(), Object.keys(PARSERS).sort());
  assertEquals(Object.keys(BAD).sort(), Object.keys(PARSERS).sort());
  const answered = Object.entries(SERVER_EVENTS)
    .filter(([, { parseAnswer }]) => parseAnswer !== undefined)
    .map(([event]) => event);
  assertEquals(answered, ["server:list_room"]);
});

Deno.test("answer validators let good answers pass as they are, unknown fields included", () => {
  for (const [event, answers] of Object.entries(GOOD)) {
    for (const answer of answers) {
      const at = `${event} ${JSON.stringify(answer)}`;
      assertEquals<unknown>(PARSERS[event]!(answer), answer, at);
    }
  }
});

Deno.test("answer validators refuse broken answers, and name the field", () => {
  for (const [event, answers] of Object.entries(BAD)) {
    const noAnswer: [unknown, string][] = [[undefined, "payload"], [
      null,
      "payload",
    ], [[], "payload"]];
    for (const [answer, field] of [...noAnswer, ...answers]) {
      const at = `${event} ${JSON.stringify(answer)}`;
      const error = assertThrows(
        () => PARSERS[event]!(answer),
        ProtocolError,
        "",
        at,
      );
      assertEquals(error.code, 400, at);
      assertEquals(error.details, { fields: [field] }, at);
    }
  }
});

Deno.test("a hostile answer with a million failing items costs one short error", () => {
  const items = new Array(1_000_000).fill(1);
  for (
    const [event, answer, field] of [
      ["client:tool_call", { content: items }, "content.0"],
      ["client:get_tools", { tools: items, req_id: "1" }, "tools.0"],
      ["client:get_desktop", { desktops: items, req_id: "1" }, "desktops.0"],
      ["client:get_config", { servers: { ...items } }, "servers.0"],
    ] as const
  ) {
    const error = assertThrows(
      () => CLIENT_EVENTS[event].parseAnswer(answer),
      ProtocolError,
    );
    assertEquals(error.details, { fields: [field] });
  }
});

Deno.test("parseGetToolsRet() reads an absent return_schema, as older SDKs send it, as null", () => {
  const { return_schema: _, ...older } = TOOL;
  assertEquals(parseGetToolsRet({ tools: [older], req_id: "1" }), {
    tools: [TOOL],
    req_id: "1",
  });
});

Deno.test("answer validators leave out what older SDKs send as null", () => {
  assertEquals(
    CLIENT_EVENTS["client:get_resources"].parseAnswer({
      resources: [],
      next_cursor: null,
      req_id: "1",
    }),
    { resources: [], req_id: "1" },
  );
  assertEquals(
    CLIENT_EVENTS["client:get_dpe"].parseAnswer({
      uri: "x:y",
      mime_type: null,
      size: null,
      req_id: "1",
    }),
    { uri: "x:y", req_id: "1" },
  );
});

Deno.test("parseListRoomRet() reads sessions without a2c_version, as profile 0.1 sends them", () => {
  const { a2c_version: _, ...older } = SESSION;
  const answer = { sessions: [older], req_id: "1" };
  assertEquals<unknown>(parseListRoomRet(answer), answer);
});

Deno.test("parseGetComputerConfigRet() shows redacted URLs and durations of other SDKs", () => {
  const shown = {
    servers: {
      web: {
        ...STDIO,
        name: "web",
        type: "streamable",
        server_parameters: {
          url: "<redacted>",
          headers: { authorization: "<redacted>" },
          timeout: "0:00:30",
          sse_read_timeout: "PT5M",
          terminate_on_close: true,
        },
      },
    },
  };
  assertEquals<unknown>(
    CLIENT_EVENTS["client:get_config"].parseAnswer(shown),
    shown,
  );
});

Deno.test("parseEnterOfficeNotification() and parseLeaveOfficeNotification() drop a null name", () => {
  for (
    const parse of [parseEnterOfficeNotification, parseLeaveOfficeNotification]
  ) {
    assertEquals(parse({ office_id: "o", computer: "pc", agent: null }), {
      office_id: "o",
      computer: "pc",
    });
    assertEquals(parse({ office_id: "o", computer: null, agent: "a" }), {
      office_id: "o",
      agent: "a",
    });
    assertThrows(() => parse({ computer: "pc" }), ProtocolError, "office_id: ");
    assertThrows(
      () => parse({ office_id: "o", computer: 1 }),
      ProtocolError,
      "computer: ",
    );
  }
});
