import { assertEquals } from "@std/assert";
import { ConnectionError } from "../../../../agent/mod.ts";
import { failureOf, toMcpResult } from "../../../../mcp/tools/result.ts";
import { ProtocolError, timeoutResult } from "../../../../protocol/mod.ts";

Deno.test("toMcpResult() passes everything, and leaves out what MCP does not know", () => {
  assertEquals(
    toMcpResult({
      content: [
        { type: "text", text: "a", annotations: null, meta: null, _meta: null },
        { type: "image", data: "AA==", mimeType: "image/png" },
        { type: "resource_link", uri: "file:///a", name: "a", size: null },
        {
          type: "resource",
          resource: { uri: "file:///a", text: "x", mimeType: null },
        },
      ],
      structuredContent: { a: null },
      isError: null,
      meta: { origin: "python" },
      _meta: null,
      later: [1],
    }),
    {
      content: [
        { type: "text", text: "a" },
        { type: "image", data: "AA==", mimeType: "image/png" },
        { type: "resource_link", uri: "file:///a", name: "a" },
        { type: "resource", resource: { uri: "file:///a", text: "x" } },
      ],
      structuredContent: { a: null },
      later: [1],
      _meta: { origin: "python" },
    },
  );
});

Deno.test("toMcpResult() writes pieces of an unknown kind as text", () => {
  const odd = { type: "hologram", data: "AA==" };
  const broken = { type: "image", data: "AA==" };
  const result = toMcpResult({
    // What parses is more than what the types know.
    content: [odd, broken].map((block) => JSON.parse(JSON.stringify(block))),
  });
  assertEquals(
    result.content,
    [odd, broken].map((block) => ({
      type: "text",
      text: JSON.stringify(block),
    })),
  );
});

Deno.test("toMcpResult() keeps what a Computer says of a failure", () => {
  const result = toMcpResult(timeoutResult(5));
  assertEquals([result.isError, result._meta?.error_code], [true, 4004]);
});

Deno.test("failureOf() makes a result for the model and a code for programs", () => {
  const coded = (error: unknown) => {
    const { content: [first], isError, _meta } = failureOf(error);
    const text = first?.type === "text" ? first.text : undefined;
    return [isError, text, _meta?.error_code];
  };
  assertEquals(coded(new ProtocolError(404, "No such Computer")), [
    true,
    "No such Computer",
    404,
  ]);
  assertEquals(coded(new ConnectionError("lost", "It is gone")), [
    true,
    "It is gone",
    "lost",
  ]);
  assertEquals(coded("odd"), [true, "odd", 500]);
});
