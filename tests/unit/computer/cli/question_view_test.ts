import fc from "fast-check";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { pressKey } from "../../../../computer/cli/ask_choice.ts";
import { cutText, type Fact } from "../../../../computer/cli/facts.ts";
import {
  callChoices,
  callerPhrase,
  describeCall,
  describeForm,
  logLines,
  permissionText,
  type QuestionText,
  WILLING_CHOICES,
} from "../../../../computer/cli/question_text.ts";
import {
  nextPage,
  pageBefore,
  type QuestionView,
  type Reading,
  UNREAD,
  viewQuestion,
} from "../../../../computer/cli/question_view.ts";
import type {
  ConfirmAnswer,
  ConfirmRequest,
} from "../../../../computer/tools/confirmations.ts";
import { readFields } from "../../../../computer/tools/form.ts";
import { textWidth } from "../../../../cli/terminal_text.ts";
import { nameText, quoted } from "../../../../shared/shown_text.ts";
import { confirmRequest } from "../../../support/approvals/confirm_request.ts";
import { steps } from "../../../support/texts/steps.ts";
import { hostileText } from "../../../support/texts/hostile_text.ts";

const request = confirmRequest;

/** What a terminal of 80 × 24 has for a question: a margin of two columns, and rows for the answers. */
const USUAL = { columns: 77, rows: 18 };

const linesOf = (over: Partial<ConfirmRequest>, size = USUAL) =>
  viewQuestion(describeCall(request(over)), size, UNREAD).lines;

Deno.test("the question shows tool, MCP server, every argument by name, and last who asks", () => {
  const params = {
    path: "a.txt",
    options: {
      "a key": [1, { x: null }, true, []],
      none: {},
    },
    text: "one\ntwo",
    last: false,
  };
  assertEquals(
    linesOf({ params, name: "write", bundleId: "npm:files" }),
    [
      'Tool: "write_file"',
      'Called as: "write"',
      'MCP server: "files"',
      'Its id: "npm:files"',
      "Arguments",
      '  path: "a.txt"',
      "  options: (2 names)",
      '    "a key": (4 items)',
      "      [0]: 1",
      "      [1]: (1 name)",
      "        x: null",
      "      [2 to 3]: true, []",
      "    none: {}",
      '  text: "one\\n',
      '    ┊ two"',
      "  last: false",
      'Asked by: Agent "planner"',
    ],
  );
  assertEquals(linesOf({ agent: "operator", operator: "key:o\u0007" }), [
    'Tool: "write_file"',
    'MCP server: "files"',
    "Arguments: none",
    'Asked by: operator of the Server "key:o⟨U+0007⟩"',
  ]);
});

Deno.test("a call that writes a file shows what it changes there line by line, in place of the content", () => {
  const before = ["a", "b", "c", "d", "e", 'says "x"', ""].join("\n");
  const params = {
    content: ["a", "b", "c", "d", "e", "+ f\u202e", ""].join("\n"),
    path: "/srv/a.txt",
  };
  assertEquals(
    linesOf({ params, diff: { of: "content", before } }).slice(3, -1),
    [
      "  content: what it changes in the file",
      "    ┊   … 2 unchanged lines",
      '    ┊   "c"',
      '    ┊   "d"',
      '    ┊   "e"',
      '    ┊ - "says \\"x\\""',
      '    ┊ + "+ f⟨U+202E⟩"',
      '    ┊   ""',
      '  path: "/srv/a.txt"',
    ],
  );
  assertEquals(
    linesOf({ params: { content: "x" }, diff: { of: "content" } }).slice(3, -1),
    ['  content: "x"', "The file for content: is a new one"],
  );
  // What cannot be allowed is not compared either.
  const many = { content: "x".repeat(2 ** 18), path: "/srv/a.txt" };
  const { facts, excess } = describeCall(
    request({ params: many, diff: { of: "content", before } }),
  );
  assertMatch(excess ?? "", /more than/);
  assertEquals(facts.some(({ text }) => text.includes("changes")), false);
});

Deno.test("permissionText() names the arguments that a call must have", () => {
  const covers = "Agent “planner” may run it with exactly these arguments.";
  const text = (fixed?: Record<string, unknown>) =>
    permissionText({ covers, ...(fixed && { fixed }) });
  const start = covers.slice(0, -1);
  assertEquals(text(), covers);
  assertEquals(text({}), `${start}: none.`);
  assertEquals(
    text({ path: "/srv/a", deep: { n: [1] }, text: "a\n\u202e" }),
    `${start}: path = "/srv/a", deep = (1 name), n = [1], text = "a\\n ⟨U+202E⟩".`,
  );
  const many = Object.fromEntries(
    Array.from({ length: 9 }, (_, i) => [`a${i}`, "x".repeat(100)]),
  );
  assertMatch(
    text(many),
    /a0 = "x{47} … \(100 characters\) … x{15}", a1 .*, … and 1 more\.$/,
  );
});

Deno.test("no yes counts before all lines of a long change were shown", () => {
  const lines = Array.from({ length: 60 }, (_, i) => `line ${i}`);
  const text = describeCall(request({
    params: { content: lines.map((line) => `${line}!`).join("\n") },
    diff: { of: "content", before: lines.join("\n") },
  }));
  const shown: string[] = [];
  let view = viewQuestion(text, USUAL, UNREAD);
  assertEquals(view.reading.isAllShown, false);
  for (let page = 0; page < 20 && !view.reading.isAllShown; page++) {
    view = viewQuestion(text, USUAL, nextPage(view));
    shown.push(...view.lines);
  }
  for (const line of lines) {
    assert(shown.includes(`    ┊ - "${line}"`), line);
    assert(shown.includes(`    ┊ + "${line}!"`), line);
  }
});

Deno.test("the question says which rule asks, and what each answer would cover", () => {
  assertEquals(
    linesOf({
      rule: { id: "rules.1", text: 'ask about tool "write_*"' },
      options: [
        { id: "once", text: "Yes, this once" },
        { id: "always", text: "Always", covers: "Any call may run." },
        { id: "no", text: "No" },
      ],
    }),
    [
      'Tool: "write_file"',
      'MCP server: "files"',
      "Arguments: none",
      'Asked because of: rules.1: ask about tool "write_*"',
      "Always: Any call may run.",
      'Asked by: Agent "planner"',
    ],
  );
});

Deno.test("a long argument does not hide the one after it, at 80 × 24", () => {
  const content = "harmless note ".repeat(300);
  const params = { content, path: "ws/.ssh/authorized_keys" };
  const text = describeCall(request({ params }));
  const { lines, reading } = viewQuestion(text, USUAL, UNREAD);
  assertEquals(lines.slice(4), [
    "    … 4,200 characters in all …",
    `    ┊ ${content.slice(-70)}"`,
    '  path: "ws/.ssh/authorized_keys"',
    'Asked by: Agent "planner"',
  ]);
  assertEquals(reading.isAllShown, false);
});

Deno.test("no name of an Agent hides or forges what will run", () => {
  const names = [
    'bot" wants to run "list_directory" of MCP server "files" of this computer',
    "x".repeat(72),
    "\u200b".repeat(256),
    "\u202e".repeat(256),
    'a"\nTool: "list_directory',
    "漢".repeat(256),
  ];
  for (const agent of names) {
    const lines = linesOf({ agent, params: { path: "a" } });
    assertEquals(lines.slice(0, 4), [
      'Tool: "write_file"',
      'MCP server: "files"',
      "Arguments",
      '  path: "a"',
    ]);
    const [, asks = ""] = /^Asked by: (Agent ".*")$/.exec(lines[4] ?? "") ?? [];
    assert(textWidth(asks) <= 40 && asks !== "", lines[4]);
    assert(!/[^\\]"/.test(asks.slice(7, -1)), asks);
    assertEquals(lines.length, 5);
  }
});

/** Passes all of a question, and returns what was on the terminal. */
function read(
  text: QuestionText,
  sizes: readonly (typeof USUAL)[],
): { shown: string[]; reading: Reading } {
  const shown: string[] = [];
  let reading = UNREAD;
  for (let step = 0; step < 5_000; step++) {
    const size = sizes[Math.min(step, sizes.length - 1)] ?? USUAL;
    const view = viewQuestion(text, size, reading);
    const { isOpen, isAllShown } = view.reading;
    if (isOpen || isAllShown) shown.push(...view.lines);
    reading = nextPage(view);
    const isEnd = reading === view.reading && step >= sizes.length;
    if (isAllShown || isEnd) break;
  }
  return { shown, reading };
}

/** Joins lines to what they continue. */
const joined = (lines: readonly string[]): string =>
  lines.map((line) => {
    const [, text] = /^ *┊ (.*)$/s.exec(line) ?? [];
    return text ?? `\n${line}`;
  }).join("");

const hostileParams = fc.object({
  key: hostileText(4),
  values: [hostileText(40), fc.integer(), fc.constant(null)],
  maxDepth: 4,
  maxKeys: 5,
});

const hostileCall = fc.record({
  agent: hostileText(30),
  server: hostileText(6),
  tool: hostileText(6),
  name: hostileText(6),
  params: hostileParams,
}).map((call) => confirmRequest({ ...call, params: { ...call.params } }));

const sizes = fc.array(
  fc.record({
    columns: fc.integer({ min: 1, max: 200 }),
    rows: fc.integer({ min: -3, max: 60 }),
  }),
  { minLength: 1, maxLength: 8 },
);

/** All names of arguments, at every depth. */
function namesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => [
    ...Array.isArray(value) ? [] : [name],
    ...namesIn(part),
  ]);
}

Deno.test("before a yes counts, tool, MCP server and every argument were on the terminal, at any size", () => {
  fc.assert(
    fc.property(hostileCall, sizes, (call, sizes) => {
      const text = describeCall(call);
      // The last size has room, so that the question can be read to its end.
      const { shown, reading } = read(text, [...sizes, USUAL]);
      assert(reading.isAllShown);
      const seen = joined(shown).replaceAll("\n", "");
      for (const { name, text: value } of text.facts) {
        const flow = value === "" ? name : `${name}: ${value}`;
        for (const part of flow.split("\n")) {
          assertStringIncludes(
            seen.replaceAll(" ", ""),
            part.replaceAll(" ", ""),
          );
        }
      }
      const names = new Set(text.facts.map(({ name }) => name));
      for (const name of namesIn(call.params)) {
        assert(names.has(nameText(name)));
      }
    }),
    { numRuns: 200 },
  );
});

Deno.test("no key chooses a yes before all of the question was shown", () => {
  const keys = fc.array(
    fc.constantFrom(
      "y",
      "h",
      "a",
      "return",
      "up",
      "down",
      "space",
      "b",
      "pagedown",
    ),
    { maxLength: 30 },
  );
  fc.assert(
    fc.property(hostileCall, sizes, keys, (call, sizes, keys) => {
      const text = describeCall(call);
      let state: { selected: ConfirmAnswer; reading: Reading } = {
        selected: "no",
        reading: UNREAD,
      };
      const shown: string[] = [];
      for (const [i, name] of keys.entries()) {
        const size = sizes[i % sizes.length] ?? USUAL;
        const view = viewQuestion(text, size, state.reading);
        shown.push(...view.lines);
        const { reading } = view;
        const choice = { choices: callChoices(call) };
        const outcome = pressKey(choice, { ...state, reading }, view, {
          name,
        });
        if ("answer" in outcome) {
          if (outcome.answer === "no" || outcome.answer === "mute") return;
          const seen = joined(shown).replaceAll(/\s/g, "");
          const named = text.facts.map(({ name }) =>
            name.replaceAll(/\s/g, "")
          );
          assert(reading.isAllShown);
          for (const name of named) assertStringIncludes(seen, name);
          return;
        }
        state = outcome;
        assert(
          ["no", "mute"].includes(state.selected) || state.reading.isAllShown,
        );
      }
    }),
    { numRuns: 200 },
  );
});

Deno.test("no text of others begins a line, or leaves its own", () => {
  const words = /^(Tool|Called as|MCP server|Arguments|Asked by)(: |$)/;
  fc.assert(
    fc.property(hostileCall, sizes, (call, sizes) => {
      const text = describeCall(call);
      const expected = text.facts.filter(({ depth }) => depth === 0);
      const names = text.facts.filter(({ depth }) => depth > 0);
      for (const size of [...sizes, USUAL]) {
        const { shown } = read(text, [size]);
        const ours: string[] = [];
        for (const line of shown) {
          assert(textWidth(line) <= size.columns, line);
          assert(!ODD.test(line), line);
          if (!line.startsWith(" ")) ours.push(words.exec(line)?.[1] ?? line);
          else assert(isOurs(line, names), line);
        }
        if (shown.length === 0) continue; // too small
        assertEquals(ours, expected.map(({ name }) => name));
      }
    }),
    { numRuns: 200 },
  );
});

/** What no line may have. */
const ODD =
  /(?! )[\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Zs}\p{Zl}\p{Zp}\u2800\u3164\u202e\u2066]/u;

/** Whether an indented line begins with a mark of ours, or with the name of an argument. */
const isOurs = (line: string, names: readonly Fact[]): boolean => {
  const text = line.trimStart().replace(/^\d+› /, "");
  return text.startsWith("┊ ") ||
    /^… [\d,]+ characters in all …$/.test(text) ||
    names.some(({ name }) => name.startsWith(text) || text.startsWith(name));
};

Deno.test("a question of too many names or bytes can only be refused, however it is read", () => {
  const deep = (levels: number): Record<string, unknown> =>
    levels === 0 ? {} : { a: [deep(levels - 1)] };
  const named = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));
  const rows: [params: Record<string, unknown>, excess: RegExp | undefined][] =
    [
      [named(200), undefined],
      [named(201), /more than 200 names/],
      [{ a: named(100), b: [named(99)] }, /more than 200 names/],
      [{ a: named(99), b: [named(99)] }, undefined],
      [{ a: "x".repeat(2 ** 18 - 30) }, undefined],
      [{ a: "x".repeat(2 ** 18) }, /more than 256 KiB/],
      [{ a: "漢".repeat(90_000) }, /more than 256 KiB/],
      [{ a: "\u0001".repeat(50_000) }, /more than 256 KiB/], // six bytes each, as JSON
      [{ ["k".repeat(2 ** 18)]: 1 }, /more than 256 KiB/],
      [{ a: Array(2 ** 18).fill({}) }, /more than 256 KiB/],
      [deep(20), undefined],
      [deep(40), /more than 64 levels/],
    ];
  for (const [params, excess] of rows) {
    const text = describeCall(request({ params }));
    if (excess) assertMatch(text.excess ?? "", excess);
    else assertEquals(text.excess, undefined);
    const { reading } = read(text, [USUAL]);
    assertEquals(reading.isAllShown, excess === undefined);
    assert(JSON.stringify(text.facts).length < 2 ** 20);
  }
  const { facts } = describeCall(request({ params: named(1_000) }));
  assertEquals(facts.at(-2)?.name, "… and 800 more arguments");
});

Deno.test("a terminal that is too small shows no question, and offers no yes", () => {
  const text = describeCall(request());
  for (const size of [{ columns: 20, rows: 30 }, { columns: 80, rows: 2 }]) {
    const view = viewQuestion(text, size, UNREAD);
    assertEquals([view.lines, view.isTooSmall], [[], true]);
    assertEquals(nextPage(view).isAllShown, false);
  }
});

Deno.test("a question goes on where it was when the terminal gets another size, and back", () => {
  const content = Array.from({ length: 300 }, (_, i) => `line ${i}`).join("\n");
  const text = describeCall(request({ params: { content } }));
  const view = (reading: Reading, columns: number): QuestionView =>
    viewQuestion(text, { columns, rows: 10 }, reading);
  const open = nextPage(view(UNREAD, 70));
  const second = nextPage(view(open, 70));
  assertEquals(view(second, 70).lines[0], "    ┊ line 7\\n");
  assertEquals(view(second, 30).lines[0], "    ┊ line 7\\n");
  assertEquals(pageBefore(view(second, 30)).tops, []);
  assertEquals(pageBefore(view(open, 30)), open);
});

Deno.test("what is laid out is bounded by what is shown", () => {
  const pages = (length: number): number => {
    const text = describeCall(request({ params: { a: "漢".repeat(length) } }));
    return steps(() => {
      const open = nextPage(viewQuestion(text, USUAL, UNREAD));
      viewQuestion(text, USUAL, nextPage(viewQuestion(text, USUAL, open)));
    });
  };
  const few = pages(2_000);
  assert(few > 100, `${few}`);
  assertEquals(pages(80_000), few);
  const described = (length: number): number => {
    const params = { a: `a${"\u0301\u0302".repeat(length)}` };
    return steps(() => describeCall(request({ params })));
  };
  assert(described(30_000) <= 11 * described(3_000));
  assert(described(3_000_000) < 100); // too much to be allowed
});

Deno.test("a form shows who asks, all of its text and every field, and gets no answer before", () => {
  const schema = {
    type: "object",
    properties: {
      name: { type: "string", title: "Your name", description: "as\u202e" },
      colour: { type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"] },
    },
    required: ["name"],
  };
  const fields = readFields(schema);
  const ask = (message: string) =>
    describeForm({
      server: "shop",
      agent: "planner",
      tool: "buy",
      message,
      requestedSchema: schema,
    }, fields);
  const short = viewQuestion(ask("Who\nare you?"), USUAL, UNREAD);
  assertEquals(short.lines, [
    'MCP server: "shop"',
    'Question: "Who\\n',
    '  ┊ are you?"',
    "Fields",
    '  name: "Your name"; a text; "as⟨U+202E⟩"',
    '  colour: one of "Red" = "r", "Green" = "g"; optional',
    'For a call of: "buy"',
    'Asked by: Agent "planner"',
  ]);
  assert(short.reading.isAllShown);
  const long = ask("much ".repeat(1_000));
  const view = viewQuestion(long, USUAL, UNREAD);
  assertEquals(view.lines.length, 9);
  const { reading } = view;
  const key = { name: "y" };
  const choices = { choices: WILLING_CHOICES };
  const state = { selected: "decline", reading } as const;
  assert(!("answer" in pressKey(choices, state, view, key)));
  assert(read(long, [USUAL]).reading.isAllShown);
  assertMatch(ask("x".repeat(2 ** 18)).excess ?? "", /256 KiB/);
  const many = Array.from(
    { length: 201 },
    (_, i) => [`f${i}`, { type: "string" }],
  );
  const properties = Object.fromEntries(many);
  const { excess } = describeForm(
    { server: "shop", message: "", requestedSchema: {} },
    readFields({ properties }),
  );
  assertMatch(excess ?? "", /200 fields/);
});

Deno.test("a page to open has its host on a line of its own, in letters that no others look like", () => {
  const about = { server: "shop", message: "Pay", requestedSchema: {} };
  const linesOf = (url: string) =>
    viewQuestion(describeForm({ ...about, url }, []), USUAL, UNREAD).lines;
  assertEquals(linesOf("https://bank.example@\u0430pple.com/x"), [
    'MCP server: "shop"',
    'Question: "Pay"',
    'Host: "xn--pple-43d.com"',
    'Page: "https://bank.example@xn--pple-43d.com/x"',
  ]);
  const [, , host] = linesOf("http://bank.example:81/");
  assertEquals(host, 'Host: "bank.example:81", not encrypted');
  const long = `https://bank.example/${"x".repeat(2 ** 18)}`;
  assertMatch(
    describeForm({ ...about, url: long }, []).excess ?? "",
    /256 KiB/,
  );
});

Deno.test("logLines() has what runs in lines that begin with words of ours or a name", () => {
  const params = {
    content: `${"x\n".repeat(5_000)}end`,
    path: { to: "a\n\u001b[2J" },
  };
  assertEquals(logLines(request({ agent: 'a"\nb', params })), [
    'tool "write_file" of MCP server "files", asked by Agent "a\\"\\nb"',
    `  content: "${"x\\n ".repeat(12).slice(0, 47)} … (10003 characters) … ${
      "x\\n ".repeat(3)
    }end"`,
    "  path: (1 name)",
    '    to: "a\\n ⟨U+001B⟩[2J"',
  ]);
  const many = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, i) => [`k${i}`, "x".repeat(10_000)]),
  );
  const lines = logLines(request({ params: many }));
  assert(lines.join("\n").length < 20_000);
  assertEquals(
    lines[1],
    "  only the beginning: the arguments are more than 200 names",
  );
  assertEquals(lines[2], `  k0: "${"x".repeat(24)}" … (10000 characters)`);
  assertEquals(lines.at(-1), "  … and 800 more arguments");
});

Deno.test("a name that is cut ends in a mark that no name has, in a log and in a question", () => {
  const same = "x".repeat(24);
  const params = {
    [`${same}safe`]: 1,
    [`${same}danger`]: 2,
    [same]: 3,
    [`${same.slice(1)}…`]: 4,
    [`a ${same}`]: 5,
    [`${same.slice(1)}😀`]: "a".repeat(23) + "😀",
    much: "x".repeat(2 ** 18),
  };
  const expected = [
    `${same}…: 1`,
    `${same}…: 2`,
    `${same}: 3`,
    `"${same.slice(1)}…": 4`,
    `"a ${same.slice(2)}"…: 5`,
    `${same.slice(1)}…: "${"a".repeat(23)}" … (25 characters)`,
    `much: "${same}" … (262144 characters)`,
  ].map((line) => `  ${line}`);
  assertEquals(logLines(request({ params })).slice(1), [
    "  only the beginning: the arguments are more than 256 KiB",
    ...expected,
  ]);
  assertEquals(linesOf({ params }).slice(3, -1), expected);
});

Deno.test("who asks is whole, or ends in a mark; no character of the name becomes another", () => {
  const rows = [
    ["planner", 'Agent "planner"'],
    ["\u200b".repeat(256), 'Agent "⟨256 × U+200B⟩"'],
    ["\u200b".repeat(2_000), 'Agent "⟨1024 × U+200B⟩…"'],
    [`${"\u200b".repeat(40)}😀`, 'Agent "⟨40 × U+200B⟩😀"'],
    [`${"\u200b".repeat(1_023)}😀`, 'Agent "⟨1023 × U+200B⟩…"'],
    ["x".repeat(256), `Agent "${"x".repeat(31)}…"`],
  ] as const;
  for (const [agent, phrase] of rows) {
    assertEquals(callerPhrase({ agent }), phrase);
  }
  fc.assert(
    fc.property(hostileText(60), fc.boolean(), (name, isOperator) => {
      const phrase = callerPhrase({
        agent: name,
        operator: isOperator ? name : undefined,
      });
      assert(textWidth(phrase) <= 40, phrase);
      const [, inner = ""] = /"(.*)"$/.exec(phrase) ?? [];
      const whole = quoted(name).slice(1, -1);
      assert(
        inner === whole ||
          inner.endsWith("…") && whole.startsWith(inner.slice(0, -1)),
        phrase,
      );
    }),
    { numRuns: 200 },
  );
});

Deno.test("cutText() splits no character", () => {
  // Fourteen units in two columns: the bound of units comes before that of columns.
  const flag = "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";
  for (const before of ["", "a"]) {
    for (const after of ["", "z"]) {
      const cut = cutText(before + flag.repeat(100) + after, 20, 10);
      assert(cut !== undefined);
      assert(cut.head.isWellFormed() && cut.tail.isWellFormed());
    }
  }
});
