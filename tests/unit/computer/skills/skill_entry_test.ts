import { assertEquals, assertRejects } from "@std/assert";
import { homedir } from "node:os";
import { defaultSkillHome } from "../../../../computer/cli/flags.ts";
import {
  bodyOffset,
  FRONT_MATTER_BYTES,
  isServerId,
  isSkillName,
  readFrontMatter,
} from "../../../../computer/skills/skill_entry.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const bodyOf = (text: string) =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(
    bytes(text).subarray(bodyOffset(bytes(text))),
  );
const read = (yaml: string) => readFrontMatter(bytes(`---\n${yaml}\n---\n`));

Deno.test("0.4 §6.5: the body is everything after the second fence, with its line ends", () => {
  assertEquals(bodyOf("---\na: b\n---\n# T\r\n\nx"), "# T\r\n\nx");
  assertEquals(bodyOf("---\r\na: b\r\n---\r\n\r\nx\r\n"), "\r\nx\r\n");
  assertEquals(bodyOf("---\ndescription: ä€😀\n---\nä"), "ä");
  assertEquals(bodyOf("---\na: b\n---"), "");
  assertEquals(bodyOf("---\n---\n---\n"), "---\n");
  assertEquals(bodyOf("\ufeff---\na: b\n---\nx"), "x");
});

Deno.test("0.4 §6.5: without both fences the whole file is the body", () => {
  for (
    const text of [
      "",
      "# T\n---\na\n---\n",
      "---\na: b\n",
      "---\na: b\n --- \n",
      "----\na\n----\n",
      "--- x\na\n---\n",
      "\n---\na\n---\n",
    ]
  ) assertEquals(bodyOf(text), text);
});

Deno.test("a second fence that is too far away is none", () => {
  const text = `---\n${"#".repeat(FRONT_MATTER_BYTES)}\n---\nx`;
  assertEquals(bodyOf(text), text);
});

Deno.test("readFrontMatter() reads what a skill tells of itself (0.4 §6.3)", async () => {
  assertEquals(
    await read(
      `name: csv
description: Aggregates CSV files.
license: MIT
compatibility: bash
allowed-tools: Bash Read
tags: [data, csv]
metadata:
  author: me
  __proto__: { polluted: true }`,
    ),
    {
      name: "csv",
      fields: {
        description: "Aggregates CSV files.",
        license: "MIT",
        compatibility: "bash",
        allowed_tools: ["Bash Read"],
        tags: ["data", "csv"],
        skill_metadata: JSON.parse(
          `{"author": "me", "__proto__": {"polluted": true}}`,
        ),
      },
    },
  );
  assertEquals(Reflect.get({}, "polluted"), undefined);
});

Deno.test("readFrontMatter() leaves out tags and metadata of another form", async () => {
  const { fields } = await read(
    "description: d\ntags: [a, 1]\nmetadata: text\nallowed-tools: [Read, 7]\nversion: 3",
  );
  assertEquals(fields, { description: "d", allowed_tools: ["Read", "7"] });
});

Deno.test("readFrontMatter() says what is wrong", async () => {
  const cases: [string, string][] = [
    ["# no fences", "no front matter"],
    ["---\nname: a\n---\n", `no "description"`],
    [`---\ndescription: ""\n---\n`, `no "description"`],
    ["---\ndescription: [a]\n---\n", `no "description"`],
    ["---\nname: [a]\ndescription: d\n---\n", `"name"`],
    ["---\n- a\n---\n", "no fields"],
    ["---\n\n---\n", "no fields"],
    ["---\na: b: c\n---\n", "no YAML"],
    ["---\ndescription: &a [*a]\n---\n", "front matter"],
    ["---\nmetadata: &a { b: *a }\ndescription: d\n---\n", "no YAML"],
  ];
  for (const [text, part] of cases) {
    await assertRejects(() => readFrontMatter(bytes(text)), Error, part, text);
  }
});

Deno.test("readFrontMatter() is not blown up by aliases", async () => {
  const levels = Array.from(
    { length: 12 },
    (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`,
  );
  await assertRejects(
    () => read(`description: d\na0: &a0 [x]\n${levels.join("\n")}`),
    Error,
    "front matter",
  );
  // Few aliases, of much text.
  await assertRejects(
    () =>
      read(
        `description: d\na: &a "${"x".repeat(9_000)}"\nb: [${
          "*a,".repeat(20)
        }]`,
      ),
    Error,
    "longer than",
  );
});

Deno.test("isSkillName() takes names of one, two and three segments (0.4 §6.2)", () => {
  for (const name of ["csv-tools", "mcp:x", "mcp:My_Fixture-2:csv"]) {
    assertEquals(isSkillName(name), true, name);
  }
});

Deno.test("isSkillName() refuses every other text", () => {
  for (
    const name of [
      "",
      ":",
      "a:b:c",
      "a:b:c:d",
      "mcp:a:b:c",
      "Bad Name!!",
      "a--b",
      "-a",
      "a-",
      "A",
      "ä",
      "a_b",
      "a/b",
      "../a",
      "a\n",
      "a:",
      ":a",
      "mcp::a",
      "mcp:a.b:c",
      "mcp:a__b:c",
      "mcp:a/../b:c",
      "mcp:a:C",
      "a".repeat(65),
      `mcp:x:${"a".repeat(65)}`,
    ]
  ) assertEquals(isSkillName(name), false, name);
  assertEquals(isSkillName("a".repeat(64)), true);
});

Deno.test("isServerId() takes what can be a folder and a segment", () => {
  assertEquals(["a", "-", "A_b-1"].map(isServerId), [true, true, true]);
  assertEquals(
    ["", ".", "..", "a.b", "a:b", "a b", "__"].some(isServerId),
    false,
  );
});

Deno.test("the folder of skills is the one of other Computers of this user (0.4 §6.4)", () => {
  assertEquals(
    defaultSkillHome({ A2C_SKILL_HOME: "/a", XDG_DATA_HOME: "/x" }),
    "/a",
  );
  assertEquals(
    defaultSkillHome({ A2C_SKILL_HOME: "~/mine" }),
    `${homedir()}/mine`,
  );
  assertEquals(defaultSkillHome({ XDG_DATA_HOME: "/x" }), "/x/a2c/skills");
  assertEquals(
    defaultSkillHome({ XDG_DATA_HOME: "relative", A2C_SKILL_HOME: "  " }),
    `${homedir()}/.a2c/skills`,
  );
});
