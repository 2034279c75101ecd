import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import {
  blobNotAccessible,
  blobWriteFailed,
  ErrorCode,
  invalidSkillName,
  ProtocolError,
  skillNotAccessible,
  skillNotFound,
  toErrorPayload,
} from "../../../protocol/errors.ts";

/** The table of spec §6 and 0.4 §11, and the 429 that the limits of §10 answer with. */
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
    assertEquals(read.name, "ProtocolError");
    assertEquals(read.code, error.code);
    assertEquals(read.message, error.message);
    assertEquals(read.details, error.details);
    assertEquals(read.fields, error.fields);
    assertEquals(read.toPayload(), error.toPayload());
  }
});

Deno.test("ProtocolError.fromPayload() understands the nested form of 0.1", () => {
  const read = ProtocolError.fromPayload({
    error: { code: 404, message: "no such computer", details: { name: "pc" } },
  });
  assertEquals(read?.toPayload(), {
    code: 404,
    message: "no such computer",
    details: { name: "pc" },
  });
});

Deno.test("ProtocolError.fromPayload() drops details that are no object", () => {
  const read = ProtocolError.fromPayload({
    code: 500,
    message: "odd",
    details: "text",
  });
  assertEquals(read?.details, undefined);
  assertEquals(read?.toPayload(), { code: 500, message: "odd" });
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

Deno.test("errors about skills have their code and details (0.4 §6.10, §11)", () => {
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

Deno.test("errors about blobs have their code and reason (0.4 §7.2, §7.5)", () => {
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
