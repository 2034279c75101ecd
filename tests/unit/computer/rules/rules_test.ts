import fc from "fast-check";
import { assert, assertEquals } from "@std/assert";
import {
  type Conditions,
  isSame,
} from "../../../../computer/rules/conditions.ts";
import { globOf } from "../../../../shared/glob.ts";
import {
  firstMatch,
  type Rule,
  shownRules,
} from "../../../../computer/rules/rules.ts";
import { view } from "../../../support/computer/server_view.ts";
import {
  naiveFirstMatch,
  naiveGlob,
} from "../../../support/approvals/naive_rules.ts";

type Params = Record<string, unknown>;

/** Returns what a single rule makes of a call of `write_file`: whether it matches. */
const matches = (rule: Rule, params: Params, over = {}): boolean =>
  firstMatch([rule], {
    agent: "planner",
    servers: ["files"],
    tools: ["write_file", "write"],
    params,
    ...over,
  }) === 0;

const names = fc.constantFrom("a", "b", "path", "__proto__", "constructor");
const values = fc.constantFrom<unknown>(
  "x",
  "",
  0,
  -0,
  1,
  5,
  "5",
  null,
  true,
  ["x"],
  { x: 1 },
  { x: 0 },
  { x: -0 },
  { y: 0 },
  { 0: "x" },
  [0],
  [-0],
  {},
  [],
  "/srv/notes/a",
  "/srv/caf\u00e9/a",
  "/srv/cafe\u0301",
  "/srv/CAF\u00c9",
  "/srv/ca\u200bf\u00e9",
  "/srv/caf",
  "/srv/notes-old/a",
  "/srv/notes/../b",
  "/srv/notes",
  "/SRV/notes/a",
  "C:\\srv\\notes\\a",
  "c:/srv/notes",
  "notes/a",
  "https://example.com/x",
  "https://a.example.com./x",
  "https://u@example.com/",
  "ftp://example.com",
);
const conditions = fc.oneof(
  fc.record({ equals: values }),
  fc.record({ in: fc.array(values, { minLength: 1, maxLength: 3 }) }),
  fc.record({
    under: fc.constantFrom(
      "/srv/notes",
      "C:\\srv\\notes",
      "/srv/caf\u00e9",
      "/",
    ),
  }),
  fc.record({ host: fc.constantFrom("example.com", "*.example.com", "*") }),
  fc.record({ min: fc.integer({ min: -1, max: 6 }) }),
  fc.record({ max: fc.integer({ min: -1, max: 6 }), min: fc.constant(0) }),
);
const globs = fc.constantFrom(
  "*",
  "*",
  "*",
  "*e*",
  "write_*",
  "files",
  "planner",
);
const rule: fc.Arbitrary<Rule> = fc.record({
  then: fc.constantFrom("allow" as const, "ask" as const, "deny" as const),
  agent: globs,
  server: globs,
  tool: globs,
  when: fc.dictionary(names, conditions, { maxKeys: 2, noNullPrototype: true }),
  others: fc.constant("any" as const),
  any: fc.constant(true as const),
}, { requiredKeys: ["then"], noNullPrototype: true }).map((rule) => {
  // As in a configuration without mistakes.
  const { others, any: _, when, ...rest } = rule;
  if (rule.then !== "allow") return { ...rest, ...(when && { when }) };
  if (when === undefined) return { ...rest, any: true as const };
  return { ...rest, when, ...(others && { others }) };
});
const call = fc.record({
  agent: fc.constantFrom("planner", "x", ""),
  servers: fc.constantFrom(["files"], ["x", "files"]),
  tools: fc.constantFrom(["write_file", "write"], ["x"]),
  params: fc.dictionary(names, values, { maxKeys: 4, noNullPrototype: true }),
});

Deno.test("rules decide as a second implementation does, which was written from the docs alone", () => {
  let decided = 0;
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 6 }), call, (rules, call) => {
      const at = firstMatch(rules, call);
      if (at >= 0) decided++;
      assertEquals(at, naiveFirstMatch(rules, call));
    }),
    { numRuns: 5_000 },
  );
  assertEquals(decided > 1_000, true, "calls that a rule matches");
});

Deno.test("a glob matches as a regular expression does, in a time that does not explode", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "*", ".") });
  fc.assert(
    fc.property(text, text, (glob, text) => {
      assertEquals(globOf(glob)(text), naiveGlob(glob, text));
    }),
    { numRuns: 5_000 },
  );
  assertEquals(globOf("*a".repeat(100))("b".repeat(10_000)), false);
});

Deno.test("threat 7: an optional argument that a rule does not name is not let past an allow", () => {
  const allow: Rule = {
    then: "allow",
    when: { path: { under: "/srv" } },
  };
  assertEquals(matches(allow, { path: "/srv/a" }), true);
  assertEquals(matches(allow, { path: "/srv/a", mode: "x" }), false);
  assertEquals(matches(allow, {}), false);
  assertEquals(
    matches({ ...allow, others: "any" }, { path: "/srv/a", b: 1 }),
    true,
  );
  const deny: Rule = { ...allow, then: "deny" };
  assertEquals(matches(deny, { path: "/srv/a", mode: "x" }), true);
});

Deno.test("values are equal as JSON: -0 is 0 at any depth, the order of keys does not matter, and a list is no object", () => {
  const rows: [value: unknown, wanted: unknown, isEqual: boolean][] = [
    [-0, 0, true],
    [{ x: [-0] }, { x: [0] }, true],
    [{ x: 1, y: 2 }, { y: 2, x: 1 }, true],
    [{ x: 1 }, { x: 1, y: 2 }, false],
    [{ x: 1, y: 2 }, { x: 1 }, false],
    [{ toString: 1 }, { x: 1 }, false],
    [["x"], { 0: "x" }, false],
    [[], {}, false],
    [null, {}, false],
    [1, "1", false],
  ];
  for (const [value, wanted, isEqual] of rows) {
    for (const then of ["allow", "deny"] as const) {
      for (const condition of [{ equals: wanted }, { in: [9, wanted] }]) {
        const rule = { then, when: { value: condition } };
        const text = JSON.stringify([value, condition]);
        assertEquals(matches(rule, { value }), isEqual, text);
      }
    }
  }
});

Deno.test("paths: what a text hides is not allowed, and is denied", () => {
  const judge = (
    under: string,
    path: unknown,
  ): [allow: boolean, deny: boolean] => {
    const when = { path: { under } };
    return [
      matches({ then: "allow", when }, { path }),
      matches({ then: "deny", when }, { path }),
    ];
  };
  const inside: [boolean, boolean] = [true, true];
  const outside: [boolean, boolean] = [false, false];
  const unsure: [boolean, boolean] = [false, true];
  const rows: [path: unknown, judged: [boolean, boolean]][] = [
    ["/srv/notes", inside],
    ["/srv/notes/", inside],
    ["/srv/notes/a/b", inside],
    ["/srv/./notes//a", inside],
    ["/srv/notes/a/../b", inside],
    ["/srv/x/../notes/b", inside],
    ["/srv/notes-old/a", outside],
    ["/srv/note", outside],
    ["/srv", outside],
    ["/", outside],
    ["/srv/notes/../../etc/passwd", outside],
    ["/etc/x?/srv/notes", outside],
    // Unsure: relative, above the root, case, Unicode forms, other kinds of paths.
    ["srv/notes/a", unsure],
    ["~/a", unsure],
    ["", unsure],
    ["/../srv/notes/a", unsure],
    ["/SRV/notes/a", unsure],
    ["/srv/Notes/a", unsure],
    ["/srv/\u006eotes\u200b/a", unsure],
    ["/srv/ｎotes/a", unsure],
    ["//srv/notes/a", unsure],
    ["\\\\srv\\notes", unsure],
    ["/srv/notes\\..\\a", unsure],
    ["C:\\srv\\notes", unsure],
    ["file:///srv/notes/a", unsure],
    ["/srv/notes/a\0.txt", unsure],
    ["/srv/notes/\ud800", unsure],
    // A program that trims it, or makes one Unicode form of it, goes up.
    ["/srv/notes/.. ", unsure],
    ["/srv/notes/\uff0e\uff0e/etc/passwd", unsure],
    ["/srv/notes/\u2025/etc/passwd", unsure],
    ["/srv/notes/..\u200b/etc/passwd", unsure],
    ["/srv/notes/a\uff0f..\uff0f..\uff0fetc", unsure],
    ["/srv/notes/ /a", unsure],
    ["/srv/notes/a b..c/\u00e9", inside],
    ["/srv/notes/.../a", inside],
    [["/srv/notes/a"], unsure],
    [null, unsure],
    [7, unsure],
  ];
  for (const [path, judged] of rows) {
    assertEquals(judge("/srv/notes", path), judged, JSON.stringify(path));
  }
  const composed = "/srv/caf\u00e9";
  assertEquals(judge(composed, "/srv/caf\u00e9/a"), inside);
  assertEquals(judge(composed, "/srv/cafe\u0301/a"), unsure);
  const windows: [path: unknown, judged: [boolean, boolean]][] = [
    ["C:\\Notes", inside],
    ["c:/Notes/a", inside],
    ["C:\\Notes\\a\\..\\b", inside],
    ["C:\\x\\..\\Notes", inside],
    ["C:\\notes\\a", unsure],
    ["C:\\Notes\\..\\Windows", outside],
    ["D:\\Notes", outside],
    ["C:\\NotesOld", outside],
    ["C:\\NOTES~1\\a", unsure],
    ["C:\\Notes.\\a", unsure],
    ["C:\\Notes \\a", unsure],
    ["C:\\Notes\\a:stream", unsure],
    ["C:Notes", unsure],
    ["\\\\?\\C:\\Notes", unsure],
    ["\\\\host\\share\\Notes", unsure],
    ["/Notes/a", unsure],
    ["C:\\..\\Notes", unsure],
  ];
  for (const [path, judged] of windows) {
    assertEquals(judge("C:\\Notes", path), judged, JSON.stringify(path));
  }
});

Deno.test("hosts: what programs read in different ways is not allowed, and is denied", () => {
  const judge = (url: unknown): [boolean, boolean] => {
    const when = { url: { host: "*.Example.com" } };
    return [
      matches({ then: "allow", when }, { url }),
      matches({ then: "deny", when }, { url }),
    ];
  };
  const rows: [url: unknown, judged: [boolean, boolean]][] = [
    ["https://a.example.com/x", [true, true]],
    ["http://A.EXAMPLE.com:8080", [true, true]],
    ["https://a.example.com./", [true, true]],
    ["https://example.com/", [false, false]],
    ["https://a.example.com.evil.net/", [false, false]],
    ["https://evil.net/?a.example.com", [false, false]],
    ["https://evil.net#.example.com", [false, false]],
    ["https://a.example.com@evil.net/", [false, true]],
    ["https://evil.net\\.example.com/", [false, true]],
    ["https://a.exa\nmple.com/", [false, true]],
    [" https://a.example.com/", [false, true]],
    ["https:a.example.com", [false, true]],
    ["https:///a.example.com", [false, true]],
    ["ftp://a.example.com/", [false, true]],
    ["a.example.com", [false, true]],
    [7, [false, true]],
    // Hosts that programs write and read in other ways: escapes, other letters, ports without end.
    ["https://%61.example.com/", [false, true]],
    ["https://a.example.com%2eevil.net/", [false, true]],
    ["https://a\u3002example.com/", [false, true]],
    ["https://\uff41.example.com/", [false, true]],
    ["https://stra\u00dfe.example.com/", [false, true]],
    ["https://a.\u00adexample.com/", [false, true]],
    ["https://a.example.com:/", [true, true]],
    ["https://a.example.com:80:80/", [false, true]],
  ];
  for (const [url, judged] of rows) {
    assertEquals(judge(url), judged, JSON.stringify(url));
  }
  const judgeAddress = (host: string, url: string): [boolean, boolean] => [
    matches({ then: "allow", when: { url: { host } } }, { url }),
    matches({ then: "deny", when: { url: { host } } }, { url }),
  ];
  for (
    const [url, judged] of [
      ["http://127.0.0.1:8080/", [true, true]],
      ["http://2130706433/", [false, true]],
      ["http://0x7f.1/", [false, true]],
      ["http://0177.0.0.1/", [false, true]],
      ["http://127.1/", [false, true]],
      ["http://\u2460\u2461\u2466.0.0.1/", [false, true]],
      ["http://127.0.0.2/", [false, false]],
    ] as [string, [boolean, boolean]][]
  ) assertEquals(judgeAddress("127.0.0.1", url), judged, url);
  for (
    const [url, judged] of [
      ["http://[::1]:8080/", [true, true]],
      ["http://[0:0:0:0:0:0:0:1]/", [false, true]],
      ["http://[::2]/", [false, false]],
    ] as [string, [boolean, boolean]][]
  ) assertEquals(judgeAddress("[::1]", url), judged, url);
});

Deno.test("values are compared by what JSON has, up to the first difference", () => {
  const long = Array.from({ length: 100_000 }, (_, n) => ({ n }));
  let read = 0;
  const watched = new Proxy(long, {
    get(target, key) {
      read++;
      return Reflect.get(target, key);
    },
  });
  assertEquals(isSame({ long: watched }, { long: [{ n: 1 }, ...long] }), false);
  assertEquals(isSame([0, watched], [1, watched]), false);
  assert(read < 100, String(read));
  const own = JSON.parse('{"__proto__": 1}');
  const rows: [a: unknown, b: unknown, isEqual: boolean][] = [
    [own, JSON.parse('{"__proto__": 1}'), true],
    [own, {}, false],
    [own, JSON.parse('{"__proto__": 2}'), false],
    [{ a: 1 }, { b: 1 }, false],
    [{ a: undefined }, { b: undefined }, false],
    [[], {}, false],
    [[1], { 0: 1 }, false],
    [null, {}, false],
    ["1", 1, false],
    [new Date(1), new Date(2), false],
    [new Date(1), {}, false],
    [new Map([[1, 2]]), new Map([[1, 3]]), false],
  ];
  for (const [a, b, isEqual] of rows) {
    assertEquals([isSame(a, b), isSame(b, a)], [isEqual, isEqual]);
  }
});

Deno.test("numbers are judged as the MCP server gets them: 1e400 is null there, and -0 is 0", () => {
  const judge = (condition: Conditions, text: string): [boolean, boolean] => {
    const n: unknown = JSON.parse(text);
    const when = { n: condition };
    return [
      matches({ then: "allow", when }, { n }),
      matches({ then: "deny", when }, { n }),
    ];
  };
  const rows: [condition: Conditions, text: string, [boolean, boolean]][] = [
    [{ min: 1 }, "1e400", [false, true]],
    [{ max: 1 }, "-1e400", [false, true]],
    [{ equals: null }, "1e400", [true, true]],
    [{ equals: [0, 10] }, "[-0, 10]", [true, true]],
    [{ in: [{ from: 0 }] }, '{"from": -0}', [true, true]],
    [{ equals: [null] }, "[1e400]", [true, true]],
    [{ equals: { a: 1, b: 2 } }, '{"b": 2, "a": 1}', [true, true]],
    [{ equals: [1, 2] }, "[2, 1]", [false, false]],
  ];
  for (const [condition, text, judged] of rows) {
    assertEquals(judge(condition, text), judged, text);
  }
});

Deno.test("a rule is about a tool by its MCP name and its alias, about an MCP server by name and id, and about Agents by name", () => {
  const rows: [rule: Partial<Rule>, isMatch: boolean][] = [
    [{}, true],
    [{ tool: "write_file" }, true],
    [{ tool: "write" }, true],
    [{ tool: "writ" }, false],
    [{ tool: "Write" }, false],
    [{ server: "files" }, true],
    [{ server: "npm:*" }, true],
    [{ server: "mail" }, false],
    [{ agent: "plan*" }, true],
    [{ agent: "other" }, false],
  ];
  for (const [rule, isMatch] of rows) {
    assertEquals(
      matches({ then: "deny", ...rule }, {}, { servers: ["files", "npm:f"] }),
      isMatch,
      JSON.stringify(rule),
    );
  }
});

Deno.test("forbidden_tools, auto_apply and the rest are shown as the rules that they are, in their order", () => {
  const files = view("files", [], {
    forbidden_tools: ["wipe"],
    default_tool_meta: { auto_apply: true },
    tool_meta: { write: { auto_apply: false }, read: { auto_apply: true } },
  });
  const mail = view("mail", [], {
    tool_meta: { list: { auto_apply: true }, send: { alias: "post" } },
  });
  const rules = shownRules(
    [{
      then: "allow",
      tool: "read_*",
      when: { path: { under: "/srv" }, n: { min: 1, max: 2 } },
    }, { then: "ask", every: true, agent: "a", server: "s" }],
    [files.config, mail.config],
  );
  assertEquals(rules.map(({ id, then, text }) => [id, then, text]), [
    [
      "servers.files.forbidden_tools.0",
      "deny",
      'deny tool "wipe" of MCP server "files", which is not listed either',
    ],
    [
      "rules.0",
      "allow",
      'allow tool "read_*" where "path" is under "/srv" and "n" is at least 1 and is at most 2 and no other argument',
    ],
    [
      "rules.1",
      "ask",
      'ask every time about any tool of MCP server "s" for Agent "a"',
    ],
    [
      "servers.files.tool_meta.write.auto_apply",
      "ask",
      'ask about tool "write" of MCP server "files"',
    ],
    [
      "servers.files.default_tool_meta.auto_apply",
      "allow",
      'allow every other tool of MCP server "files" with any arguments',
    ],
    [
      "servers.mail.tool_meta.list.auto_apply",
      "allow",
      'allow tool "list" of MCP server "mail" with any arguments',
    ],
    ["default", "ask", "ask about every other call"],
  ]);
});

Deno.test("a rule in words has what is to be known of the arguments that it does not name", () => {
  const when = { n: { equals: 1 } };
  const file = { path: "path", content: "content", under: "/srv" };
  const texts = shownRules([
    { then: "allow", when },
    { then: "allow", when, others: "any" },
    { then: "allow", when: {} },
    { then: "allow", any: true },
    { then: "ask", tool: "write", file },
  ], []).map(({ text }) => text);
  assertEquals(texts, [
    'allow any tool where "n" is 1 and no other argument',
    'allow any tool where "n" is 1 and any other arguments',
    "allow any tool without arguments",
    "allow any tool with any arguments",
    'ask about tool "write" (shows what it changes in the file that "path" names, below "/srv")',
    "ask about every other call",
  ]);
});
