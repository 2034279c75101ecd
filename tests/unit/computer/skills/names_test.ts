import { assertEquals } from "@std/assert";
import {
  isServerId,
  parseSkillName,
} from "../../../../computer/skills/skill_names.ts";
import { defaultSkillHome } from "../../../../computer/skills/skill_home.ts";
import { homedir } from "node:os";

Deno.test("parseSkillName() takes names of one, two and three segments apart (0.4 §6.2)", () => {
  assertEquals(parseSkillName("csv-tools"), {
    kind: "user",
    skill: "csv-tools",
  });
  assertEquals(parseSkillName("mcp:x"), {
    kind: "plugin",
    plugin: "mcp",
    skill: "x",
  });
  assertEquals(parseSkillName("mcp:My_Fixture-2:csv"), {
    kind: "mcp",
    server: "My_Fixture-2",
    skill: "csv",
  });
});

Deno.test("parseSkillName() refuses every other text", () => {
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
  ) assertEquals(parseSkillName(name), undefined, name);
  assertEquals(parseSkillName("a".repeat(64))?.kind, "user");
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
