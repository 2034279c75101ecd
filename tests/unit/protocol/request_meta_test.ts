import { assertEquals, assertThrows } from "@std/assert";
import {
  MAX_META_BYTES,
  MAX_OFFICES_LISTED,
  passedOn,
  readOffices,
  writeOffices,
} from "../../../protocol/payloads/request_meta.ts";
import { parseToolCallReq, ProtocolError } from "../../../protocol/mod.ts";

const KEY = "a2c-smcp/offices";

const call = (_meta: unknown) => ({
  agent: "planner",
  req_id: "1",
  computer: "pc",
  tool_name: "echo",
  params: {},
  timeout: 30,
  _meta,
});

/** `_meta` whose JSON has so many bytes, in characters of a number of bytes. */
function metaOf(bytes: number, character: string): Record<string, string> {
  const size = new TextEncoder().encode(character).length;
  const count = Math.floor((bytes - '{"a":""}'.length) / size);
  const rest = bytes - '{"a":""}'.length - count * size;
  return { a: character.repeat(count) + "x".repeat(rest) };
}

Deno.test("parseToolCallReq() takes _meta of up to 8,192 bytes, and names it where it is refused", () => {
  const taken = [
    {},
    { traceparent: "00-1-2-3", nested: { list: [1, null] } },
    ...["x", "é", "☃", "🙂"].map((each) => metaOf(MAX_META_BYTES, each)),
  ];
  for (const meta of taken) {
    assertEquals(parseToolCallReq(call(meta))._meta, meta);
  }
  const refused = [
    null,
    "text",
    [],
    7,
    ...["x", "é", "☃", "🙂"].map((each) => metaOf(MAX_META_BYTES + 1, each)),
  ];
  for (const meta of refused) {
    const error = assertThrows(
      () => parseToolCallReq(call(meta)),
      ProtocolError,
      "_meta: Invalid input: expected object of at most 8192 bytes",
    );
    assertEquals([error.code, error.details], [400, { fields: ["_meta"] }]);
  }
});

Deno.test("readOffices() reads what writeOffices() writes, and leaves out what is no id", () => {
  for (
    const [meta, ids] of [
      [{}, []],
      [undefined, []],
      [null, []],
      ["text", []],
      [{ [KEY]: "a" }, []],
      [{ [KEY]: {} }, []],
      [{ [KEY]: ["a", "b", "a"] }, ["a", "b", "a"]],
      [{ [KEY]: ["a", 1, null, {}, "", "b c", "x".repeat(65), "b"] }, [
        "a",
        "b",
      ]],
      [writeOffices(["a", "b_-1"])._meta, ["a", "b_-1"]],
    ] as const
  ) assertEquals(readOffices(meta), [...ids], JSON.stringify(meta));
  assertEquals(writeOffices([]), {});
  const many = Array.from({ length: 1000 }, (_, i) => `id${i}`);
  const listed = many.slice(0, MAX_OFFICES_LISTED);
  assertEquals(readOffices(writeOffices(many)._meta), listed);
  assertEquals(readOffices({ [KEY]: many }), listed);
});

Deno.test("writeOffices() stays below the bound of _meta, whatever the ids", () => {
  const longest = Array.from(
    { length: 1000 },
    (_, i) => `${i}`.padEnd(64, "x"),
  );
  const { _meta } = writeOffices(longest);
  assertEquals(parseToolCallReq(call(_meta))._meta, _meta);
});

Deno.test("passedOn() keeps all keys but those that MCP defines", () => {
  assertEquals(
    passedOn({
      traceparent: "00",
      [KEY]: ["a"],
      "com.example/key": 1,
      progress: 2,
      progressToken: 5,
      "io.modelcontextprotocol/protocolVersion": "x",
      "modelcontextprotocol.io/x": 1,
      "dev.mcp/x": 1,
    }),
    { traceparent: "00", [KEY]: ["a"], "com.example/key": 1, progress: 2 },
  );
});
