import { assertEquals, assertThrows } from "@std/assert";
import { parseComputerConfig } from "../../../../computer/config/parse_config.ts";
import { readConfigText } from "../../../../computer/config/load_config.ts";
import { requireValid } from "../../../../computer/config/parse_config.ts";
import {
  type Rule,
  SmcpComputer,
  ToolHost,
  type ToolHostOptions,
} from "../../../../computer/mod.ts";

const withRules = (rules: unknown) => ({ servers: {}, rules });

/** The first problem of a configuration with one rule. */
const problemOf = (rule: unknown): string => {
  try {
    parseComputerConfig(withRules([rule]));
    return "";
  } catch (error) {
    return String(error).split("\n")[0]?.replace(
      /^ConfigError: configuration: /,
      "",
    ) ?? "";
  }
};

Deno.test("a configuration has rules in their order, in each format that has a place for them", () => {
  const rules: Rule[] = [
    { tool: "delete_*", then: "deny", reason: "ask me in person" },
    {
      server: "files",
      tool: "read_file",
      when: { path: { under: "/srv/notes" } },
      then: "allow",
    },
    {
      tool: "write_file",
      then: "ask",
      file: { path: "path", content: "content", under: "C:\\notes" },
    },
    { agent: "planner", tool: "send", then: "ask", every: true },
    { tool: "ping", then: "allow", any: true },
    {
      tool: "fetch",
      when: { url: { host: "*.example.com" }, n: { min: 1, max: 2 } },
      others: "any",
      then: "allow",
    },
  ];
  assertEquals(parseComputerConfig(withRules(rules)).rules, rules);
  assertEquals(
    parseComputerConfig({ mcpServers: {}, rules: rules.slice(0, 1) }).rules,
    rules.slice(0, 1),
  );
  assertEquals(parseComputerConfig({ servers: {} }).rules, []);
});

Deno.test("each mistake in a rule is an error that names its path, the problem and a fix", () => {
  const when = { path: { under: "/srv" } };
  const rows: [rule: unknown, problem: string][] = [
    [7, "rules.0: expected an object, not a number"],
    [{}, 'rules.0.then: expected "allow", "ask" or "deny"'],
    [
      { then: "ask", tol: "x" },
      'rules.0.tol: unknown field; did you mean "tool"?',
    ],
    [{ then: "ask", tool: "" }, "rules.0.tool: it is empty"],
    [
      { then: "allow", tool: "x" },
      'rules.0: an "allow" names the arguments: add "when", or "any": true for any arguments at all',
    ],
    [
      { then: "allow", when, any: true },
      'rules.0.any: "any" allows whatever the arguments are, so "when" would mean nothing; leave one of them out, or write "others": "any"',
    ],
    [
      { then: "allow", any: true, others: "any" },
      'rules.0.others: it goes with "when"; write "any": true instead',
    ],
    [
      { then: "deny", when, others: "any" },
      'rules.0.others: it is for "allow": "deny" matches whatever other arguments there are; leave it out',
    ],
    [
      { then: "deny", every: true },
      'rules.0.every: it is for "ask", not for "deny"; leave it out',
    ],
    [
      {
        then: "deny",
        file: { path: "p", content: "c", under: "/srv" },
      },
      'rules.0.file: it is for "ask", not for "deny"; leave it out',
    ],
    [
      { then: "ask", when: { path: {} } },
      "rules.0.when.path: it has no condition; use one of equals, in, under, host, min, max",
    ],
    [
      { then: "ask", when: { path: { matches: ".*" } } },
      "rules.0.when.path.matches: unknown field; remove it, or use one of equals, in, under, host, min, max",
    ],
    [
      { then: "ask", when: { path: "x" } },
      "rules.0.when.path: expected an object, not a text",
    ],
    [
      { then: "ask", when: { n: { min: 2, max: 1 } } },
      'rules.0.when.n.min: it is above "max", so that no number matches',
    ],
    [
      { then: "ask", file: { path: "p", contents: "c", under: "/srv" } },
      'rules.0.file.contents: unknown field; did you mean "content"?',
    ],
    [
      { then: "ask", file: { path: "p", content: "p", under: "/srv" } },
      'rules.0.file.content: it is the argument of "path", too: "for an hour" would allow any file',
    ],
  ];
  rows.push(
    [
      { then: "deny", when: { path: { in: [] } } },
      "rules.0.when.path.in: it is empty",
    ],
    [
      { then: "deny", when: { path: { under: "/srv/${input:folder}" } } },
      "rules.0.when.path.under: inputs and variables are not filled in rules: write the path itself",
    ],
  );
  for (const [rule, problem] of rows) assertEquals(problemOf(rule), problem);
  for (
    const under of ["notes", "~/notes", "/..", "//srv", "C:notes", "/a\\b"]
  ) {
    const problem = problemOf({ then: "ask", when: { path: { under } } });
    assertEquals(
      problem.startsWith(
        "rules.0.when.path.under: expected an absolute path",
      ),
      true,
      under,
    );
  }
  for (
    const host of [
      "",
      "https://a",
      "a/b",
      "a:80",
      "bücher.de",
      "a..b",
      // No URL has these as it is read.
      "2130706433",
      "010.0.0.1",
      "[0:0:0:0:0:0:0:1]",
      "[12345::]",
    ]
  ) {
    const problem = problemOf({ then: "ask", when: { url: { host } } });
    assertEquals(
      problem.startsWith("rules.0.when.url.host: expected a host"),
      true,
      host,
    );
  }
  assertThrows(
    () => parseComputerConfig(withRules({ then: "ask" })),
    Error,
    "rules: expected a list of rules",
  );
});

Deno.test("a mistake in the rules of a file is at its line", async () => {
  const text =
    '{\n  "servers": {},\n  "rules": [\n    {"then": "ask", "tol": "x"}\n  ]\n}';
  const read = await readConfigText(text, "a.json");
  assertThrows(
    () => requireValid(read, "a.json"),
    Error,
    'a.json:4:28: rules.0.tol: unknown field; did you mean "tool"?',
  );
});

Deno.test("rules within an MCP server are an error in each format, not a field of another program's", () => {
  const rules = [{ then: "deny", tool: "x" }];
  const own = { type: "stdio", server_parameters: { command: "x" }, rules };
  for (
    const config of [
      { mcpServers: { a: { command: "x", rules } } },
      { servers: { a: { command: "x", rules } } },
      { mcp_servers: { a: { command: "x", rules } } },
      { servers: { a: own } },
      [{ name: "a", ...own }],
      { servers: [{ name: "a", ...own }] },
    ]
  ) {
    assertThrows(
      () => parseComputerConfig(config),
      Error,
      "rules: ",
      JSON.stringify(config),
    );
  }
});

Deno.test("programs give rules as an option, which is checked as in a file", async () => {
  assertThrows(
    () => new ToolHost({ servers: {}, rules: [{ then: "allow", tool: "x" }] }),
    Error,
    'options: rules.0: an "allow" names the arguments',
  );
  const misspelled: object = { servers: {}, rule: [] };
  assertThrows(
    () => new ToolHost(misspelled as ToolHostOptions),
    TypeError,
    "rules",
  );
  await using computer = new SmcpComputer({
    url: "http://localhost:1",
    name: "pc",
    servers: {},
    rules: [{ then: "deny", tool: "x", reason: "no" }],
  });
  assertEquals(computer.rules, [
    { id: "rules.0", then: "deny", text: 'deny tool "x" – "no"' },
    { id: "default", then: "ask", text: "ask about every other call" },
  ]);
  assertEquals(computer.permissions.list(), []);
});
