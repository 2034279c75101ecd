import { assert, assertEquals, assertThrows } from "@std/assert";
import { ProtocolError } from "../../../protocol/errors.ts";
import { parseDeviceRet } from "../../../protocol/payloads/devices.ts";
import { CLIENT_EVENTS, SERVER_EVENTS } from "../../../protocol/event_table.ts";
import {
  type ContentBlock,
  parseDPEDocument,
  parseDPEPage,
} from "../../../protocol/mod.ts";
import {
  parseEnterOfficeNotification,
  parseLeaveOfficeNotification,
  parseListRoomRet,
} from "../../../protocol/payloads/offices.ts";
import type { Parser } from "../../../protocol/validation.ts";

const TOOL = {
  name: "echo",
  description: "",
  params_schema: { type: "object" },
  return_schema: null,
};
const DOCUMENT = {
  doc_ref: "report",
  uri: "dpe://docs/report",
  title: "Report",
  file_uri: "file:///report.pdf",
  file_type: "pdf",
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
const PAGE = { page_index: 0, elements: [] };
const ELEMENT = { element_id: "e", category: "Table" };

const message = (content: unknown, role = "user") => ({
  messages: [{ role, content }],
});
const block = (block: unknown) => ({ content: [block] });
const page = (over: object) => ({ pages: [{ ...PAGE, ...over }] });
const element = (over: object) => page({ elements: [{ ...ELEMENT, ...over }] });

interface Description {
  /** An answer that passes as it is. */
  base: object;
  /** Changes of it that pass as they are. */
  good: readonly object[];
  /** Changes of it that no client may take for good, with the field that is at fault. */
  bad: readonly [change: object, at: string][];
}

/** Answers of Computers and Servers, and the documents that they lead to. */
const ANSWERS: Readonly<Record<string, Description>> = {
  "client:tool_call": {
    base: { content: [] },
    good: [
      ...[
        { type: "text", text: "hi", annotations: null, meta: null },
        { type: "image", data: "AA==", mimeType: "image/png", odd: 1 },
        { type: "audio", data: "", mimeType: "audio/wav" },
        { type: "resource_link", uri: "x:1", name: "one", size: null },
        { type: "resource", resource: { uri: "x:1", text: "t" } },
        { type: "resource", resource: { uri: "x:1", blob: "AA==" } },
        { type: "toString" },
      ].map(block),
      {
        content: [{ type: "hologram", depth: 3 }],
        structuredContent: { a: [1] },
        isError: true,
        meta: { error_code: 4003 },
        _meta: { error_code: 4003 },
        later: "field",
      },
      // As the Python SDK writes it.
      { meta: null, content: [], structuredContent: null, isError: false },
    ],
    bad: [
      [{ content: undefined }, "content"],
      [{ content: "text" }, "content"],
      [block({ text: "no type" }), "content.0.type"],
      [block({ type: "text" }), "content.0.text"],
      [block({ type: "text", text: 1 }), "content.0.text"],
      [block({ type: "image", data: "AA==" }), "content.0.mimeType"],
      [block({ type: "audio", mimeType: "audio/wav" }), "content.0.data"],
      [block({ type: "resource_link", uri: "x:1" }), "content.0.name"],
      [block({ type: "resource", resource: {} }), "content.0.resource.uri"],
      [block({ type: "resource" }), "content.0.resource.uri"],
      [block("text"), "content.0"],
      [block(null), "content.0"],
      [{ isError: "yes" }, "isError"],
      [{ structuredContent: [] }, "structuredContent"],
      [{ meta: "m" }, "meta"],
      [{ _meta: [] }, "_meta"],
    ],
  },
  "client:get_tools": {
    base: { tools: [], req_id: "1" },
    good: [
      { tools: [TOOL], later: 1 },
      {
        tools: [
          {
            ...TOOL,
            return_schema: { type: "object" },
            meta: { a2c_tool_meta: "{}", n: 1.5, ok: true, none: null },
          },
          { ...TOOL, meta: null },
          { ...TOOL, meta: {} },
        ],
      },
    ],
    bad: [
      [{ tools: undefined }, "tools"],
      [{ req_id: undefined }, "req_id"],
      [{ tools: [{ ...TOOL, name: 1 }] }, "tools.0.name"],
      [{ tools: [{ ...TOOL, params_schema: null }] }, "tools.0.params_schema"],
      [{ tools: [{ ...TOOL, return_schema: [] }] }, "tools.0.return_schema"],
      [{ tools: [{ ...TOOL, meta: { deep: {} } }] }, "tools.0.meta.deep"],
    ],
  },
  "client:get_config": {
    base: { servers: {} },
    good: [
      { inputs: null },
      {
        inputs: [{ type: "promptString", id: "key", description: "the key" }],
        servers: { files: STDIO },
      },
      // Redacted URLs, and durations of other SDKs.
      {
        servers: {
          web: {
            ...STDIO,
            name: "web",
            type: "streamable",
            server_parameters: {
              url: "<redacted>",
              headers: { a: "<redacted>" },
              timeout: "0:00:30",
              sse_read_timeout: "PT5M",
              terminate_on_close: true,
            },
          },
        },
      },
    ],
    bad: [
      [{ servers: undefined }, "servers"],
      [{ servers: [] }, "servers"],
      [{ servers: { a: { type: "ftp" } } }, "servers.a.type"],
      [{ inputs: {} }, "inputs"],
    ],
  },
  "client:get_desktop": {
    base: { desktops: [], req_id: "1" },
    good: [{ desktops: ["window://a", "window://b\n\ntext"] }],
    bad: [
      [{ desktops: undefined }, "desktops"],
      [{ desktops: [1] }, "desktops.0"],
    ],
  },
  "client:get_resources": {
    base: { resources: [], req_id: "1" },
    good: [{
      resources: [
        { uri: "x:y", annotations: { priority: 1.5 }, _meta: { odd: true } },
        {},
        { uri: 7, name: null },
        JSON.parse('{"__proto__":{"uri":"z:z"}}'),
      ],
      next_cursor: "2",
    }],
    bad: [
      [{ resources: undefined }, "resources"],
      [{ resources: ["x:y"] }, "resources.0"],
      [{ next_cursor: 2 }, "next_cursor"],
    ],
  },
  "client:get_dpe": {
    base: { uri: "file:///tmp/a.json", req_id: "1" },
    good: [{ mime_type: "application/json", size: 0 }],
    bad: [
      [{ uri: undefined }, "uri"],
      [{ uri: "" }, "uri"],
      [{ size: -1 }, "size"],
      [{ size: 1.5 }, "size"],
      [{ mime_type: 1 }, "mime_type"],
    ],
  },
  "client:get_finder": {
    base: { documents: [], total_count: 0, req_id: "1" },
    good: [{
      documents: [DOCUMENT, {
        ...DOCUMENT,
        keywords: ["q1"],
        summary: "s",
        last_modified: "2026-01-15",
      }],
      total_count: 40,
    }],
    bad: [
      [{ total_count: undefined }, "total_count"],
      [{ documents: {} }, "documents"],
      [
        { documents: [{ ...DOCUMENT, page_count: "3" }] },
        "documents.0.page_count",
      ],
    ],
  },
  "client:read_resource": {
    base: { contents: [], req_id: "1" },
    good: [{
      contents: [{ uri: "x:y", text: "t", _meta: { odd: true } }, { blob: 7 }],
      _meta: { odd: 1 },
    }],
    bad: [
      [{ _meta: "text" }, "_meta"],
      [{ contents: undefined }, "contents"],
      [{ contents: ["text"] }, "contents.0"],
    ],
  },
  "client:watch_resource": {
    base: { req_id: "1" },
    good: [],
    bad: [[{ req_id: undefined }, "req_id"]],
  },
  "client:get_prompts": {
    base: { prompts: [], req_id: "1" },
    good: [{
      prompts: [{ name: "p", mcp_server: "s", title: null, arguments: [{}] }],
    }],
    bad: [
      [{ prompts: undefined }, "prompts"],
      [{ prompts: [{ mcp_server: "s" }] }, "prompts.0.name"],
      [{ prompts: [{ name: "p" }] }, "prompts.0.mcp_server"],
    ],
  },
  "client:get_prompt": {
    base: { messages: [], req_id: "1" },
    good: [
      { ...message({ type: "text", text: "t" }), description: "d" },
      message({ type: "later" }, "assistant"),
      { messages: [{ role: "user", content: { type: "later" }, odd: 1 }] },
    ],
    bad: [
      [{ messages: undefined }, "messages"],
      [message({ type: "x" }, "boss"), "messages.0.role"],
      [message("text"), "messages.0.content"],
    ],
  },
  "client:get_resource_templates": {
    base: { resource_templates: [], req_id: "1" },
    good: [{
      resource_templates: [{ uriTemplate: "x:{y}", mcp_server: "s", name: 1 }],
    }],
    bad: [
      [{ resource_templates: undefined }, "resource_templates"],
      [
        { resource_templates: [{ mcp_server: "s" }] },
        "resource_templates.0.uriTemplate",
      ],
      [
        { resource_templates: [{ uriTemplate: "x:" }] },
        "resource_templates.0.mcp_server",
      ],
    ],
  },
  "client:complete": {
    base: { completion: { values: [] }, req_id: "1" },
    good: [
      { completion: { values: ["a"], total: 3, hasMore: true, later: 1 } },
    ],
    bad: [
      [{ completion: undefined }, "completion"],
      [{ completion: { values: [1] } }, "completion.values.0"],
      [{ completion: { values: [], total: "3" } }, "completion.total"],
    ],
  },
  "client:get_instructions": {
    base: { instructions: [], req_id: "1" },
    good: [{ instructions: [{ mcp_server: "s", text: "t", later: 1 }] }],
    bad: [
      [{ instructions: undefined }, "instructions"],
      [{ instructions: [{ text: "t" }] }, "instructions.0.mcp_server"],
      [{ instructions: [{ mcp_server: "s" }] }, "instructions.0.text"],
    ],
  },
  "client:get_skills": {
    base: { skills: [], req_id: "1" },
    good: [{ skills: [SKILL, { ...SKILL, tags: 7, later: 1 }] }],
    bad: [
      [{ skills: undefined }, "skills"],
      [{ skills: [{ ...SKILL, path: null }] }, "skills.0.path"],
      [{ skills: [{ ...SKILL, description: 1 }] }, "skills.0.description"],
    ],
  },
  "client:get_skill": {
    base: {
      name: "s",
      rel_path: "SKILL.md",
      mime_type: "text/markdown",
      total_size: 0,
      sha256: "e3b0",
      req_id: "1",
      body: "",
    },
    good: [{ body: undefined, blob_handle: "h", etag: "later" }],
    bad: [
      [{ body: undefined }, "payload"],
      [{ body: "a", blob_handle: "h" }, "payload"],
      [{ body: null }, "body"],
      [{ total_size: -1 }, "total_size"],
    ],
  },
  "client:get_blob": {
    base: {
      blob_handle: "h",
      mime_type: "image/png",
      total_size: 0,
      sha256: "e3b0",
      chunk_offset: 0,
      eof: true,
      blob: "",
      req_id: "1",
    },
    good: [{ total_size: 9, chunk_offset: 8, eof: false, blob: "AA==" }],
    bad: [
      [{ eof: 1 }, "eof"],
      [{ blob: null }, "blob"],
      [{ total_size: 0.5 }, "total_size"],
    ],
  },
  "client:put_blob": {
    base: { upload_id: "u", chunk_offset: 0, req_id: "1" },
    good: [{ landing_path: "/l/u_a.txt", total_size: 10_000, sha256: "ab" }],
    bad: [
      [{ upload_id: undefined }, "upload_id"],
      [{ landing_path: 1 }, "landing_path"],
    ],
  },
  "server:update_devices": {
    base: { devices: 0 },
    good: [{ devices: 9 }, { host: "approve.example.com" }],
    bad: [[{ devices: -1 }, "devices"], [{ devices: undefined }, "devices"], [
      { host: null },
      "host",
    ]],
  },
  "client:device": {
    base: { body: "", req_id: "1" },
    good: [{ body: "AAAA" }, { body: "A+/=" }, { body: "A".repeat(699_052) }],
    bad: [
      ...[undefined, null, 1, "A", "AA-_", "A===", "AA\n=", "A".repeat(699_056)]
        .map((body): [object, string] => [{ body }, "body"]),
      [{ req_id: undefined }, "req_id"],
    ],
  },
  "server:list_room": {
    base: { sessions: [], req_id: "1" },
    good: [
      { sessions: [SESSION, { ...SESSION, role: "agent" }] },
    ],
    bad: [
      [{ sessions: undefined }, "sessions"],
      [{ sessions: [{ ...SESSION, role: "boss" }] }, "sessions.0.role"],
      [
        { sessions: [{ ...SESSION, a2c_version: null }] },
        "sessions.0.a2c_version",
      ],
    ],
  },
  "a document": {
    base: { doc_ref: "d", uri: "dpe://h/d", title: "T", pages: [] },
    good: [
      {
        file_uri: "file:///d.pdf",
        file_type: "pdf",
        summary: "s",
        page_count: 2,
        keywords: ["k"],
        last_modified: "2026-01-15",
        later: { field: 1 },
        pages: [
          { ...PAGE, title: "p" },
          { page_index: 1, uri: "pages/1.json" },
        ],
      },
      element({ text: "t", rows: [[1]], metadata: {}, content: { a: 1 } }),
    ],
    bad: [
      [{ doc_ref: undefined }, "doc_ref"],
      [{ title: 7 }, "title"],
      [{ pages: {} }, "pages"],
      [{ keywords: ["a", 1] }, "keywords.1"],
      [{ page_count: -1 }, "page_count"],
      [{ pages: ["x"] }, "pages.0"],
      [page({ page_index: -1 }), "pages.0.page_index"],
      [page({ page_index: "0" }), "pages.0.page_index"],
      [page({ elements: null }), "pages.0"],
      [page({ uri: "" }), "pages.0.uri"],
      [element({ category: null }), "pages.0.elements.0.category"],
      [element({ element_id: 1 }), "pages.0.elements.0.element_id"],
      [element({ text: [] }), "pages.0.elements.0.text"],
    ],
  },
  "a page": {
    base: PAGE,
    good: [{ elements: undefined, uri: "x" }],
    bad: [[{ elements: undefined, title: "t" }, "payload"]],
  },
};

const PARSERS: Readonly<Record<string, Parser<object>>> = {
  ...Object.fromEntries(
    Object.entries(CLIENT_EVENTS)
      .map(([event, { parseAnswer }]) => [event, parseAnswer]),
  ),
  "server:list_room": parseListRoomRet,
  "server:update_devices": SERVER_EVENTS["server:update_devices"].parseAnswer,
  "client:device": parseDeviceRet,
  "a document": parseDPEDocument,
  "a page": parseDPEPage,
};

/** Changes an answer; `undefined` takes a field out. */
const changed = (base: object, change: object): object =>
  Object.fromEntries(
    Object.entries({ ...base, ...change })
      .filter(([, value]) => value !== undefined),
  );

const parse = (name: string, answer: unknown) => PARSERS[name]!(answer);

Deno.test("every answer of the table has a description here, and the reverse", () => {
  assertEquals(Object.keys(ANSWERS).sort(), Object.keys(PARSERS).sort());
  const answered = Object.entries(SERVER_EVENTS)
    .filter(([, { parseAnswer }]) => parseAnswer !== undefined)
    .map(([event]) => event);
  assertEquals(answered, ["server:list_room", "server:update_devices"]);
});

Deno.test("answer validators let good answers pass as they are, unknown fields included", () => {
  for (const [name, { base, good }] of Object.entries(ANSWERS)) {
    for (const change of [{}, ...good]) {
      const answer = changed(base, change);
      const at = `${name} ${JSON.stringify(answer)}`;
      assertEquals<unknown>(parse(name, answer), answer, at);
    }
  }
});

Deno.test("answer validators refuse broken answers, and name the field", () => {
  for (const [name, { base, bad }] of Object.entries(ANSWERS)) {
    const none = [undefined, null, [], "text"];
    const rows: readonly [answer: unknown, field: string][] = [
      ...none.map((answer): [unknown, string] => [answer, "payload"]),
      ...bad.map((
        [change, at],
      ): [object, string] => [changed(base, change), at]),
    ];
    for (const [answer, field] of rows) {
      const at = `${name} ${JSON.stringify(answer)}`;
      const run = () => parse(name, answer);
      const error = assertThrows(run, ProtocolError, "", at);
      assertEquals([error.code, error.details], [400, { fields: [field] }], at);
    }
  }
  assertThrows(
    () => parseDPEPage({ page_index: 3, title: "t" }),
    ProtocolError,
    "a page needs elements, or a uri",
  );
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
    const error = assertThrows(() => parse(event, answer), ProtocolError);
    assertEquals(error.details, { fields: [field] });
  }
});

Deno.test("answer validators read what older SDKs leave out, or send as null", () => {
  const { return_schema: _, ...oldTool } = TOOL;
  const { a2c_version: __, ...oldSession } = SESSION;
  const rows: [name: string, answer: object, read: object][] = [
    [
      "client:get_tools",
      { tools: [oldTool], req_id: "1" },
      { tools: [TOOL], req_id: "1" },
    ],
    [
      "client:get_resources",
      { resources: [], next_cursor: null, req_id: "1" },
      { resources: [], req_id: "1" },
    ],
    [
      "client:get_dpe",
      { uri: "x:y", mime_type: null, size: null, req_id: "1" },
      { uri: "x:y", req_id: "1" },
    ],
    // As profile 0.1 sends them.
    [
      "server:list_room",
      { sessions: [oldSession], req_id: "1" },
      { sessions: [oldSession], req_id: "1" },
    ],
    [
      "a document",
      {
        ...ANSWERS["a document"]?.base,
        summary: null,
        page_count: null,
        ...page({
          title: null,
          uri: null,
          elements: [{ ...ELEMENT, text: null, metadata: null }],
        }),
      },
      { ...ANSWERS["a document"]?.base, ...element({}) },
    ],
  ];
  for (const [name, answer, read] of rows) {
    assertEquals<unknown>(parse(name, answer), read, name);
  }
});

Deno.test("parseEnterOfficeNotification() and parseLeaveOfficeNotification() drop a null name", () => {
  for (
    const parse of [parseEnterOfficeNotification, parseLeaveOfficeNotification]
  ) {
    for (const member of [{ computer: "pc" }, { agent: "a" }]) {
      const sent = { computer: null, agent: null, office_id: "o", ...member };
      assertEquals<unknown>(parse(sent), { office_id: "o", ...member });
    }
    for (
      const [sent, says] of [
        [{ computer: "pc" }, "office_id: "],
        [{ office_id: "o", computer: 1 }, "computer: "],
      ] as const
    ) assertThrows(() => parse(sent), ProtocolError, says);
  }
});

Deno.test("a block's type decides which fields it has", () => {
  const shown = (block: ContentBlock): string => {
    switch (block.type) {
      case "text":
        return block.text;
      case "image":
      case "audio":
        return block.mimeType;
      case "resource_link":
        return block.name;
      case "resource":
        return block.resource.uri;
      default: {
        const none: never = block;
        return JSON.stringify(none);
      }
    }
  };
  assert(shown({ type: "text", text: "a" }) === "a");
  assertEquals(shown({ type: "resource", resource: { uri: "x:1" } }), "x:1");
});
