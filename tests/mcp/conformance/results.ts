// @ts-types="@modelcontextprotocol/sdk/types"
import type {
  CallToolResult,
  ContentBlock,
  Tool,
} from "@modelcontextprotocol/sdk/types.js";

/** A red pixel, as PNG. */
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/** A sound of no length, as WAV. */
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

/** A result of one text. */
export const text = (text: string): CallToolResult => ({
  content: [{ type: "text", text }],
});

const image: ContentBlock = { type: "image", data: PNG, mimeType: "image/png" };
const resource = (uri: string, mimeType: string, text: string) =>
  ({ type: "resource", resource: { uri, mimeType, text } }) as const;

/** The tools that always give the same. */
export const RESULTS: Readonly<Record<string, CallToolResult>> = {
  test_simple_text: text("This is a simple text response for testing."),
  test_image_content: { content: [image] },
  test_audio_content: {
    content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }],
  },
  test_embedded_resource: {
    content: [
      resource(
        "test://embedded-resource",
        "text/plain",
        "This is an embedded resource content.",
      ),
    ],
  },
  test_multiple_content_types: {
    content: [
      { type: "text", text: "Multiple content types test:" },
      image,
      resource(
        "test://mixed-content-resource",
        "application/json",
        JSON.stringify({ test: "data", value: 123 }),
      ),
    ],
  },
};

/** A schema with much of the vocabulary of JSON Schema 2020-12, which has to arrive unchanged. */
export const JSON_SCHEMA_TOOL: Tool = {
  name: "json_schema_2020_12_tool",
  description: "Has a schema of JSON Schema 2020-12",
  inputSchema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: {
        $anchor: "addressDef",
        type: "object",
        properties: { street: { type: "string" }, city: { type: "string" } },
      },
    },
    properties: {
      name: { type: "string" },
      address: { $ref: "#/$defs/address" },
      contactMethod: { type: "string", enum: ["phone", "email"] },
      phone: { type: "string" },
      email: { type: "string" },
    },
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
    if: {
      properties: { contactMethod: { const: "phone" } },
      required: ["contactMethod"],
    },
    then: { required: ["phone"] },
    else: { required: ["email"] },
    additionalProperties: false,
  },
};
