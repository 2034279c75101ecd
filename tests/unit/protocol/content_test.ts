import { assertEquals, assertThrows } from "@std/assert";
import {
  type ContentBlock,
  parseCallToolResult,
  ProtocolError,
} from "../../../protocol/mod.ts";

Deno.test("parseCallToolResult() passes blocks of every type on, those of later versions included", () => {
  const later = { type: "hologram", angle: 3 };
  const content = [
    { type: "text", text: "hi", annotations: null, meta: null },
    { type: "image", data: "AA==", mimeType: "image/png", odd: 1 },
    { type: "audio", data: "", mimeType: "audio/wav" },
    { type: "resource_link", uri: "x:1", name: "one", size: null },
    { type: "resource", resource: { uri: "x:1", text: "t" } },
    { type: "resource", resource: { uri: "x:1", blob: "AA==" } },
    later,
    { type: "toString" },
  ];
  assertEquals<unknown>(parseCallToolResult({ content }).content, content);
});

Deno.test("parseCallToolResult() refuses blocks without the fields that their type promises", () => {
  const rows = [
    { type: "text" },
    { type: "text", text: 5 },
    { type: "image", data: "AA==" },
    { type: "audio", mimeType: "audio/wav" },
    { type: "resource_link", uri: "x:1" },
    { type: "resource", resource: {} },
    { type: "resource" },
    { text: "hi" },
    "text",
    null,
  ];
  for (const block of rows) {
    const { code, message } = assertThrows(
      () => parseCallToolResult({ content: [block] }),
      ProtocolError,
    );
    assertEquals([code, message.includes("content.0")], [400, true], message);
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
  assertEquals(shown({ type: "text", text: "a" }), "a");
  assertEquals(
    shown({ type: "resource", resource: { uri: "x:1" } }),
    "x:1",
  );
  assertEquals(
    parseCallToolResult({ content: [{ type: "later" }] }).content.map(shown),
    ['{"type":"later"}'],
  );
});
