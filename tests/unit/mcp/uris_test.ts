import * as fc from "fast-check";
import { assertEquals } from "@std/assert";
import { type Place, placeOf, uriOf } from "../../../mcp/resources/uris.ts";

const text = fc.string({ unit: "grapheme", minLength: 1 });
const place: fc.Arbitrary<Place> = fc.oneof(
  fc.record({ kind: fc.constant("desktop" as const), computer: text }),
  fc.record({
    kind: fc.constantFrom("window" as const, "document" as const),
    computer: text,
    uri: text,
  }),
  fc.record({
    kind: fc.constant("resource" as const),
    computer: text,
    server: text,
    uri: text,
  }),
  fc.record({
    kind: fc.constant("skill" as const),
    computer: text,
    name: text,
    path: text,
  }),
);

Deno.test("URIs of an office's resources lead back to what they stand for, whatever its names", () => {
  fc.assert(fc.property(place, (place) => {
    const well = JSON.parse(JSON.stringify(place));
    assertEquals<unknown>(placeOf(uriOf(place)), well);
  }));
});

Deno.test("placeOf() reads a URI or nothing from any text", () => {
  fc.assert(fc.property(fc.string(), (text) => {
    placeOf(`a2c://${text}`);
  }));
  const wrong = [
    "",
    "file:///x",
    "a2c://",
    "a2c:///desktop",
    "a2c://pc",
    "a2c://pc/desktop/more",
    "a2c://pc/window/",
    "a2c://pc/resource/server",
    "a2c://pc/resource/server/uri/more",
    "a2c://pc/window/%",
    "a2c://pc/toString",
  ];
  for (const text of wrong) assertEquals(placeOf(text), undefined, text);
});
