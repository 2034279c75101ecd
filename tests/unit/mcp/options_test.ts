import * as fc from "fast-check";
import { assertEquals, assertThrows } from "@std/assert";
import { checkHeaders } from "../../../mcp/http/guards.ts";
import { readView, writeView } from "../../../mcp/http/views.ts";
import { resolveOptions } from "../../../mcp/options.ts";
import { type Place, placeOf, uriOf } from "../../../mcp/resources/uris.ts";

Deno.test("resolveOptions() names the number that is out of its range", () => {
  const wrong = [
    [
      { nameLimit: 23 },
      "Cannot use nameLimit 23: expected a whole number from 24 to 128",
    ],
    [{ callTimeoutMs: 999 }, "from 1000 to 3600000"],
    [
      { callsPerSecond: 0 },
      "Cannot use callsPerSecond 0: expected a whole number from 1",
    ],
    [{ maxSessions: 1.5 }, "Cannot use maxSessions 1.5"],
    [{ heartbeatMs: NaN }, "Cannot use heartbeatMs NaN"],
  ] as const;
  for (const [options, message] of wrong) {
    assertThrows(() => resolveOptions(options), RangeError, message);
  }
});

Deno.test("resolveOptions() fills in defaults, and takes no limit for one", () => {
  assertEquals(resolveOptions({}).nameLimit, 48);
  assertEquals(
    resolveOptions({ callsPerSecond: Infinity }).callsPerSecond,
    Infinity,
  );
});

Deno.test("readView() reads what writeView() writes", () => {
  const view = {
    computer: "büro & co",
    include: ["laptop__*", "tag:safe"],
    exclude: ["*delete*"],
    tools: "search",
    nameLimit: 60,
    callTimeoutMs: 30_000,
    lenient: true,
    desktopTools: true,
  } as const;
  assertEquals(readView(writeView(view)), { ...view });
  assertEquals(readView(writeView({})), {});
});

Deno.test("readView() names the parameter that it cannot use", () => {
  const wrong = {
    "exlude=a": `There is no parameter "exlude": expected one of computer,`,
    "tools=some": `Cannot use tools "some": expected "all" or "search"`,
    "name-limit=many": `Cannot use name-limit "many": expected a whole number`,
    "desktop-tools=yes": `Cannot use desktop-tools "yes": expected 1 or 0`,
    "lenient=yes": `Cannot use lenient "yes": expected 1 or 0`,
    "computer=": `Cannot use computer "": expected a value`,
    "computer=a&computer=b": "computer is given more than once",
    "constructor=a": `There is no parameter "constructor"`,
  };
  for (const [query, message] of Object.entries(wrong)) {
    assertThrows(
      () => readView(new URLSearchParams(query)),
      TypeError,
      message,
    );
  }
});

const refused = (
  headers: Record<string, string>,
  rule: Partial<Parameters<typeof checkHeaders>[1]> = {},
) => checkHeaders(new Headers(headers), { hosts: [], origins: [], ...rule });

Deno.test("checkHeaders() admits this machine's names and those given, and refuses names that others may point to this machine", () => {
  for (
    const host of [
      ...["localhost", "localhost:8787", "127.0.0.1:1", "127.1.2.3"],
      ...["[::1]:8787", "office.localhost", "LOCALHOST:80", "localhost.:80"],
    ]
  ) assertEquals(refused({ host }), undefined, host);
  for (
    const host of [
      ...["evil.example", "evil.example:8787", "127.0.0.1.evil.example"],
      ...["10.0.0.1", "localhost.evil.example", "", "a b", "[::2]"],
    ]
  ) assertEquals(refused({ host }), "Host not allowed", host);
  assertEquals(refused({}), undefined);
  const own = { hosts: ["smcp.example.com"] };
  assertEquals(refused({ host: "smcp.example.com:443" }, own), undefined);
  assertEquals(refused({ host: "x.example.com" }, own), "Host not allowed");
  assertEquals(refused({ host: "evil.example" }, { hosts: "*" }), undefined);
});

Deno.test("checkHeaders() refuses pages of other origins than its own and those named", () => {
  const host = "localhost:8787";
  const no = "Origin not allowed";
  assertEquals(refused({ host, origin: `http://${host}` }), undefined);
  for (
    const origin of [
      ...["https://evil.example", "http://localhost:3000", "null"],
      ...["http://localhost:8787.evil.example", "http://null"],
    ]
  ) {
    assertEquals(refused({ host, origin }), no, origin);
    assertEquals(refused({ origin }), no, origin);
    assertEquals(refused({ host, origin }, { origins: "*" }), undefined);
  }
  const own = { host: "evil.example", origin: "http://evil.example" };
  assertEquals(refused(own, { hosts: "*" }), no);
  const origins = ["https://app.example"];
  const origin = "https://app.example";
  assertEquals(refused({ host, origin }, { origins }), undefined);
});

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
