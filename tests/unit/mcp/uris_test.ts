import fc from "fast-check";
import { UriTemplate } from "@modelcontextprotocol/client";
import { assertEquals } from "@std/assert";
import { Links } from "../../../mcp/resources/links.ts";
import {
  linkTo,
  placeOf,
  templateOf,
  uriOf,
  urisOf,
} from "../../../mcp/resources/uris.ts";
import { withPageUris } from "../../../protocol/mcp/apps.ts";

const name = fc.string({ minLength: 1, unit: "binary" })
  .map((text) => text.toWellFormed());

/** URIs as MCP servers have them, with what URIs should not have, too. */
const uri = fc.tuple(
  fc.constantFrom("x:", "demo://", "file:///", "UI://", "ui://", "a2c://"),
  fc.string({ unit: "binary" }),
).map((parts) => parts.join("").toWellFormed());

Deno.test("every URI by which an office has a resource leads back to it exactly", () => {
  fc.assert(fc.property(name, name, uri, (computer, server, uri) => {
    const place = { kind: "resource" as const, computer, server, uri };
    const [own, plain] = urisOf(place);
    assertEquals(placeOf(own), place);
    assertEquals(placeOf(plain ?? ""), { ...place, form: "plain" });
    assertEquals(uriOf({ ...place, form: "plain" }), plain);
    assertEquals(/^ui:\/\//i.test(own), /^ui:\/\//i.test(uri));
  }));
});

Deno.test("a template behind that of the office expands to what leads to the server's own expansion", () => {
  const part = fc.constantFrom(
    ...["{a}", "{+a}", "{#a}", "{.a}", "{/a}", "{?a,b}", "{&b}", "{a,b}"],
    ...["/", "x", "?q=1", "#f", "%20"],
  );
  const template = fc.array(part, { maxLength: 6 })
    .map((parts) => `demo://${parts.join("")}`);
  const value = fc.string({ unit: "grapheme" })
    .map((text) => text.toWellFormed());
  const place = fc.record({ computer: name, server: name });
  const values = fc.record({ a: value, b: value });
  fc.assert(fc.property(place, template, values, (place, own, given) => {
    const expanded = new UriTemplate(templateOf(place, own)).expand(given);
    assertEquals(placeOf(expanded), {
      kind: "resource",
      ...place,
      uri: new UriTemplate(own).expand(given),
      form: "plain",
    });
  }));
});

Deno.test("linkTo() names Computer and MCP server, and leaves what clients can fetch, and what is too long", () => {
  const place = { computer: "pc", server: "s" };
  for (
    const [uri, shown] of [
      ["x:y", "a2c://pc/resource/s/x%3Ay"],
      ["", ""],
      ["ui://a/b", "ui://a2c/pc/s/ui%3A%2F%2Fa%2Fb"],
      ["window://h/w", `a2c://pc/window/${encodeURIComponent("window://h/w")}`],
      ["dpe://h/d", `a2c://pc/document/${encodeURIComponent("dpe://h/d")}`],
      ["https://x.example/a", "https://x.example/a"],
      ["data:text/plain,a", "data:text/plain,a"],
      [`x:${"y".repeat(20_000)}`, `x:${"y".repeat(20_000)}`],
    ] as const
  ) assertEquals(linkTo(place, uri), shown);
});

Deno.test("Links remembers 1,000 links to the web, each at the MCP server that gave it last", () => {
  const links = new Links();
  const show = (uri: string, server: string) =>
    links.show({ type: "resource_link", uri }, { computer: "pc", server });
  for (let at = 0; at < 1_001; at++) show(`https://x.example/${at}`, "a");
  show("https://x.example/5", "b");
  assertEquals(links.find("https://x.example/0"), undefined);
  assertEquals(Object(links.find("https://x.example/1")).server, "a");
  assertEquals(links.find("https://x.example/5"), {
    kind: "resource",
    computer: "pc",
    server: "b",
    uri: "https://x.example/5",
  });
});

Deno.test("Links shows what it does not know as it is", () => {
  const links = new Links();
  const place = { computer: "pc", server: "s" };
  for (
    const block of [
      { type: "text", text: "x:y" },
      { type: "resource_link", uri: 7 },
      { type: "resource", resource: { text: "t" } },
      { type: "resource", resource: null },
    ]
  ) assertEquals(links.show(block, place), block);
  const link = { type: "resource_link", uri: "x:y" };
  assertEquals(links.show(link, { computer: "pc" }), link);
});

Deno.test("withPageUris() renames pages under all keys that hosts read, and nothing else", () => {
  const rename = (uri: string) => `${uri}!`;
  const meta = {
    ui: { resourceUri: "ui://a", visibility: ["app"] },
    "ui/resourceUri": "ui://b",
    "openai/outputTemplate": "ui://c",
    other: "ui://d",
  };
  assertEquals(withPageUris(meta, rename), {
    ui: { resourceUri: "ui://a!", visibility: ["app"] },
    "ui/resourceUri": "ui://b!",
    "openai/outputTemplate": "ui://c!",
    other: "ui://d",
  });
  const odd = { ui: { resourceUri: "https://a" }, "ui/resourceUri": 7 };
  assertEquals(withPageUris(odd, rename) === odd, true);
});
