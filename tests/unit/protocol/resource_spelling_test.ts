import { assertEquals, assertStrictEquals } from "@std/assert";
import type { Resource } from "../../../protocol/mod.ts";
import {
  inBothSpellings,
  inMcpSpelling,
} from "../../../protocol/payloads/resources.ts";

const MCP: Resource = {
  uri: "a://b",
  title: "A",
  mimeType: "text/plain",
  annotations: { audience: ["user"], lastModified: "2026" },
  own: { mimeType: 1 },
};
const BOTH: Resource = {
  ...MCP,
  mime_type: "text/plain",
  annotations: { ...MCP.annotations, last_modified: "2026" },
};

Deno.test("inBothSpellings() adds the protocol's names to those of MCP, and drops nothing (0.4 §9)", () => {
  assertEquals(inBothSpellings(MCP), BOTH);
  assertEquals(inBothSpellings(BOTH), BOTH);
});

Deno.test("inMcpSpelling() reads either spelling, and both (0.4 §9)", () => {
  const { mimeType: _, ...rest } = MCP;
  const wire = {
    ...rest,
    mime_type: "text/plain",
    annotations: { audience: ["user"], last_modified: "2026" },
  };
  for (const resource of [MCP, BOTH, wire]) {
    assertEquals(inMcpSpelling(resource), MCP);
  }
});

Deno.test("resources of other shapes are left alone, and what an MCP server spells itself", () => {
  const others: Resource[] = [
    {},
    { uri: "a://b" },
    JSON.parse('{"mimeType": 1, "mime_type": null, "annotations": null}'),
    JSON.parse('{"annotations": "x"}'),
    { mimeType: "text/plain", mime_type: "its own" },
  ];
  for (const resource of others) {
    assertStrictEquals(inBothSpellings(resource), resource);
    assertStrictEquals(inMcpSpelling(resource), resource);
  }
});
