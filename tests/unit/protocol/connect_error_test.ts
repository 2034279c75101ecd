import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import {
  parseConnectError,
  parseErrorBody,
  ProtocolError,
  ProtocolVersionError,
} from "../../../protocol/errors.ts";

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

Deno.test("ProtocolVersionError tells a person both versions and the way out", () => {
  const { message } = new ProtocolVersionError("0.9.0", "0.2.0");
  assert(message.includes("0.9.0") && message.includes("0.2.0"), message);
  assert(message.includes("upgrade"), message);
});

Deno.test("ProtocolVersionError names the version to choose, which this package lacks only for 0.1", () => {
  const remedyFor = (version: string) =>
    new ProtocolVersionError(version, "0.2.0").message.split("; ")[1];
  assertEquals(
    remedyFor("0.1.7"),
    "its operator can upgrade it, or start it with --protocol 0.2",
  );
  assertEquals(
    remedyFor("0.4.1"),
    'choose that version with --protocol 0.4 (in code: protocol: "0.4"), or leave the choice to "auto"',
  );
  assertEquals(
    remedyFor("unknown"),
    "upgrade the older of the two: this package speaks 0.2, 0.3, 0.4",
  );
});

Deno.test("ProtocolVersionError of a body without versions says so in words", () => {
  const found = parseConnectError({ code: 4008, message: "mismatch" });
  assertInstanceOf(found, ProtocolVersionError);
  assertEquals(found.serverVersion, "unknown");
  assertEquals(found.clientVersion, "unknown");
});

Deno.test("parseErrorBody() reads object, string and bytes alike", () => {
  for (
    const body of [
      MISMATCH,
      JSON.stringify(MISMATCH),
      bytesOf(MISMATCH),
      bytesOf(MISMATCH).buffer,
    ]
  ) {
    assertEquals(parseErrorBody(body), MISMATCH);
  }
});
