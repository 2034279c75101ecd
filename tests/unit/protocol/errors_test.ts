import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import en from "zod/v4/locales/en.js";
import {
  blobNotAccessible,
  blobWriteFailed,
  ErrorCode,
  invalidSkillName,
  parseConnectError,
  parseErrorBody,
  ProtocolError,
  ProtocolVersionError,
  skillNotAccessible,
  skillNotFound,
  toErrorPayload,
} from "../../../protocol/errors.ts";
import * as z from "../../../protocol/schema.ts";

/** The table of protocol §6, and the 429 that the limits of §10 answer with. */
const TABLE: Record<string, number> = {
  BAD_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  TIMEOUT: 408,
  TOO_MANY_REQUESTS: 429,
  INTERNAL_ERROR: 500,
  TOOL_NOT_FOUND: 4001,
  TOOL_DISABLED: 4002,
  TOOL_EXECUTION_FAILED: 4003,
  TOOL_TIMEOUT: 4004,
  TOOL_REQUIRES_CONFIRMATION: 4005,
  TOOL_AUTHORIZATION_REQUIRED: 4006,
  TOOL_AUTHORIZATION_FAILED: 4007,
  PROTOCOL_VERSION_MISMATCH: 4008,
  DPE_RESOLVER_NOT_CONFIGURED: 4011,
  INVALID_DPE_URI: 4012,
  DPE_RESOLUTION_FAILED: 4013,
  MCP_SERVER_NOT_FOUND: 4014,
  MCP_CAPABILITY_NOT_SUPPORTED: 4015,
  INVALID_SKILL_NAME: 4016,
  SKILL_NOT_ACCESSIBLE: 4017,
  BLOB_NOT_ACCESSIBLE: 4018,
  BLOB_WRITE_FAILED: 4019,
  ROOM_FULL: 4101,
  ROOM_NOT_FOUND: 4102,
  NOT_IN_ROOM: 4103,
  CROSS_ROOM_ACCESS: 4104,
  DOCUMENT_NOT_FOUND: 4201,
  PAGE_OUT_OF_RANGE: 4202,
  ELEMENT_NOT_FOUND: 4203,
  INVALID_FINDER_URI: 4204,
};

const invalidUri = (): ProtocolError =>
  new ProtocolError(ErrorCode.INVALID_DPE_URI, "Invalid DPE URI", {
    details: { hint: "add a document reference" },
    fields: { uri: "dpe://host", reason: "no document reference" },
    cause: new Error("secret of the inside"),
  });

Deno.test("ErrorCode is the code table of the spec, no more and no less", () => {
  assertEquals({ ...ErrorCode }, TABLE);
});

Deno.test("ProtocolError.toPayload() is flat: code, message, details and the code's own fields", () => {
  assertEquals(invalidUri().toPayload(), {
    code: 4012,
    message: "Invalid DPE URI",
    details: { hint: "add a document reference" },
    uri: "dpe://host",
    reason: "no document reference",
  });
  assertEquals(new ProtocolError(404, "gone").toPayload(), {
    code: 404,
    message: "gone",
  });
});

Deno.test("ProtocolError.toPayload() leaves cause and stack behind", () => {
  const error = invalidUri();
  assert(error.stack !== undefined && error.cause !== undefined);
  const wire = JSON.stringify(error.toPayload());
  assert(!wire.includes("secret of the inside"), wire);
  assert(!wire.includes("stack") && !wire.includes(".ts"), wire);
});

Deno.test("ProtocolError.toPayload() never lets a field replace code or message", () => {
  const fields = { code: 200, message: "fine", details: "odd" };
  const payload = new ProtocolError(403, "no", { fields, details: { a: 1 } })
    .toPayload();
  assertEquals(payload, { code: 403, message: "no", details: { a: 1 } });
});

Deno.test("ProtocolError.fromPayload() reads back what toPayload() wrote", () => {
  for (const error of [invalidUri(), new ProtocolError(4999, "of later")]) {
    const wire = JSON.parse(JSON.stringify(error.toPayload()));
    const read = ProtocolError.fromPayload(wire);
    assertInstanceOf(read, ProtocolError);
    const parts = ({ name, code, message, details, fields }: ProtocolError) => [
      ...[name, code, message, details, fields],
    ];
    assertEquals(parts(read), parts(error));
    assertEquals(read.toPayload(), error.toPayload());
  }
});

Deno.test("ProtocolError.fromPayload() understands the nested form of 0.1", () => {
  const error = { code: 404, message: "no such", details: { name: "pc" } };
  assertEquals(ProtocolError.fromPayload({ error })?.toPayload(), error);
});

Deno.test("ProtocolError.fromPayload() drops details that are no object", () => {
  const error = { code: 500, message: "odd" };
  const read = ProtocolError.fromPayload({ ...error, details: "text" });
  assertEquals([read?.details, read?.toPayload()], [undefined, error]);
});

Deno.test("toErrorPayload() takes nothing for an error that is none", () => {
  const answers: unknown[] = [
    undefined,
    null,
    true,
    404,
    "404",
    [],
    [{ code: 404, message: "in a list" }],
    {},
    { code: "404", message: "a string code" },
    { code: 404.5, message: "no integer" },
    { code: 404 },
    { message: "no code" },
    { error: "text" },
    { error: { code: 404 } },
    { tools: [], req_id: "1" },
  ];
  for (const answer of answers) {
    assertEquals(toErrorPayload(answer), undefined, JSON.stringify(answer));
    assertEquals(ProtocolError.fromPayload(answer), undefined);
  }
});

Deno.test("toErrorPayload() never takes a tool's result for an error", () => {
  const result = {
    content: [],
    isError: true,
    code: 4003,
    message: "a field of the tool's own",
    error: { code: 404, message: "likewise" },
  };
  assertEquals(toErrorPayload(result), undefined);
});

Deno.test("errors about skills have their code and details (protocol §6, §8.6)", () => {
  const wire = (error: { toPayload(): unknown }) => error.toPayload();
  assertEquals<unknown>(wire(invalidSkillName("Bad Name!!")), {
    code: 4016,
    message: "Invalid skill name",
    details: { name: "Bad Name!!" },
  });
  assertEquals<unknown>(wire(skillNotFound("nosuch")), {
    code: 4014,
    message: "Skill not found",
    details: { name: "nosuch" },
  });
  assertEquals<unknown>(wire(skillNotAccessible("forbidden", ".skillenv")), {
    code: 4017,
    message: "Skill resource not accessible",
    details: { reason: "forbidden", rel_path: ".skillenv" },
  });
  assertEquals(
    skillNotAccessible("too_large", "a.bin", 7).details,
    { reason: "too_large", rel_path: "a.bin", total_size: 7 },
  );
});

Deno.test("errors about blobs have their code and reason (protocol §8.7)", () => {
  for (
    const reason of ["invalid_handle", "forbidden", "gone", "range"] as const
  ) {
    const { code, details } = blobNotAccessible(reason);
    assertEquals([code, details], [4018, { reason }]);
  }
  const { code, details, message } = blobWriteFailed("busy", "try later");
  assertEquals(
    [code, details, message],
    [4019, { reason: "busy" }, "Upload failed: try later"],
  );
  assertEquals(
    blobWriteFailed("range", "offset", "u1").details,
    { reason: "range", upload_id: "u1" },
  );
});

const MISMATCH = {
  code: 4008,
  message: "Protocol version mismatch",
  server_version: "0.3.0",
  client_version: "0.2.0",
  min_supported: "0.3.0",
  max_supported: "0.3.999",
};
const UNAUTHORIZED = { code: 401, message: "Unknown API key" };

const bytesOf = (data: unknown): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(JSON.stringify(data));

/** Bytes that are a window into a larger buffer, as Node's pooled buffers are. */
function windowOf(data: unknown): Uint8Array {
  const bytes = bytesOf(data);
  const pool = new Uint8Array(bytes.length + 20).fill(0x20);
  pool.set(bytes, 7);
  return pool.subarray(7, 7 + bytes.length);
}

const errorWith = (fields: object): Error =>
  Object.assign(new Error("xhr poll error"), fields);

/** The body in every form in which it can reach a client. */
const forms = (body: unknown): Record<string, unknown> => ({
  "object": body,
  "string": JSON.stringify(body),
  "bytes": bytesOf(body),
  "bytes in a pool": windowOf(body),
  "DataView": new DataView(bytesOf(body).buffer),
  "ArrayBuffer": bytesOf(body).buffer,
  "Error.data": errorWith({ data: body }),
  "Error.data as string": errorWith({ data: JSON.stringify(body) }),
  "Error.context.responseText": errorWith({
    description: 400,
    context: { status: 400, responseText: JSON.stringify(body) },
  }),
  "Error.context.response": errorWith({
    context: { responseText: "", response: bytesOf(body).buffer },
  }),
  "Error.description": errorWith({ description: JSON.stringify(body) }),
  "Error.message": new Error(JSON.stringify(body)),
});

Deno.test("parseConnectError() finds 4008 in every form a client can get it", () => {
  for (const [form, error] of Object.entries(forms(MISMATCH))) {
    const found = parseConnectError(error);
    assertInstanceOf(found, ProtocolVersionError, form);
    assertEquals(found.name, "ProtocolVersionError", form);
    assertEquals(found.serverVersion, "0.3.0", form);
    assertEquals(found.clientVersion, "0.2.0", form);
  }
});

Deno.test("parseConnectError() gives any other answer of the server as ProtocolError", () => {
  for (const [form, error] of Object.entries(forms(UNAUTHORIZED))) {
    const found = parseConnectError(error);
    assertInstanceOf(found, ProtocolError, form);
    assertEquals(found.toPayload(), UNAUTHORIZED, form);
  }
});

Deno.test("parseConnectError() understands the nested form of 0.1", () => {
  for (const [form, error] of Object.entries(forms({ error: MISMATCH }))) {
    assertInstanceOf(parseConnectError(error), ProtocolVersionError, form);
  }
});

Deno.test("parseConnectError() tells a dead network from an answer", () => {
  const silent: unknown[] = [
    undefined,
    null,
    400,
    "",
    "websocket error",
    "<html>502 Bad Gateway</html>",
    "null",
    "[]",
    "{}",
    new Error("xhr poll error"),
    errorWith({ code: "ECONNREFUSED" }),
    errorWith({ description: 400, context: { responseText: "" } }),
    errorWith({ context: null, data: null }),
    { code: "4008", message: "codes are numbers" },
    { code: 4008 },
    new Uint8Array([0xff, 0xfe, 0x00]),
  ];
  for (const error of silent) {
    assertEquals(parseConnectError(error), undefined, String(error));
  }
});

Deno.test("ProtocolVersionError names both versions and the one to choose, which this package lacks only for 0.1", () => {
  const upgrade =
    "upgrade the older of the two: this package speaks 0.2, 0.3, 0.4";
  const rows: [server: string, remedy: string][] = [
    ["0.1.7", "its operator can upgrade it, or start it with --protocol 0.2"],
    ...["0.3", "0.4"].map((name): [string, string] => [
      `${name}.9`,
      `choose that version with --protocol ${name} (in code: protocol: "${name}"), or leave the choice to "auto"`,
    ]),
    ["0.5.0", upgrade],
    ["0.9.0", upgrade],
    ["unknown", upgrade],
  ];
  for (const [server, remedy] of rows) {
    const { message } = new ProtocolVersionError(server, "0.2.0");
    const [says = "", helps] = message.split("; ");
    assertEquals(helps, remedy);
    assert(says.includes(server) && says.includes("0.2.0"), says);
  }
});

Deno.test("ProtocolVersionError of a body without versions says so in words", () => {
  const found = parseConnectError({ code: 4008, message: "mismatch" });
  assertInstanceOf(found, ProtocolVersionError);
  assertEquals(found.serverVersion, "unknown");
  assertEquals(found.clientVersion, "unknown");
});

Deno.test("parseErrorBody() reads object, string and bytes alike", () => {
  const bytes = bytesOf(MISMATCH);
  for (
    const body of [MISMATCH, JSON.stringify(MISMATCH), bytes, bytes.buffer]
  ) {
    assertEquals(parseErrorBody(body), MISMATCH);
  }
});

const { localeError } = en();

/** Schemas of every kind that this package has, each with data that it refuses. */
const REFUSED: [schema: z.ZodMiniType, ...data: unknown[]][] = [
  [z.string(), 1, null, undefined, [], {}, NaN, -Infinity, 1n, new Date()],
  [z.boolean(), "", Object.create(null), new Map(), () => {}],
  [z.number(), "1", NaN, Infinity],
  [z.int(), 1.5, "1", 2 ** 60],
  [z.int().check(z.minimum(1), z.maximum(3)), 0, 4],
  [z.number().check(z.positive()), 0],
  [z.string().check(z.minLength(2), z.maxLength(3)), "a", "abcd"],
  [z.array(z.string()).check(z.minLength(1)), [], [1]],
  [z.literal("a"), "b", 1],
  [z.literal(1), "b"],
  [z.null(), 0],
  [z.enum(["a", "b"]), "c", undefined],
  [z.union([z.string(), z.number()]), true, {}],
  [
    z.discriminatedUnion("type", [
      z.looseObject({ type: z.literal("a") }),
      z.looseObject({ type: z.enum(["b", "c"]) }),
    ]),
    { type: "d" },
    {},
    1,
  ],
  [z.string().check(z.refine(() => false)), ""],
  [z.string().check(z.refine(() => false, "own words")), ""],
  [z.custom(() => false), 1],
];

Deno.test("ENGLISH says what zod's English locale says, for the schemas of this package", () => {
  for (const [schema, ...refused] of REFUSED) {
    for (const data of refused) {
      const said = (error: z.core.$ZodErrorMap) =>
        schema.safeParse(data, { error }).error?.issues
          .map(({ path, message }) => [path, message]);
      const messages = said(z.ENGLISH.error);
      assert(messages !== undefined);
      assertEquals(messages, said(localeError));
    }
  }
});
