import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { computerPart, toolName } from "../../../../mcp/tools/names.ts";
import { isPlainName } from "../../../../shared/checks.ts";

const naming = { limit: 48, prefix: true };
const A_NAME = /^[A-Za-z0-9_-]+$/;

Deno.test("toolName() leaves names as they are where they can stand", () => {
  assertEquals(
    toolName({ computer: "laptop", tool: "echo" }, naming),
    "laptop__echo",
  );
  assertEquals(
    toolName({ computer: "my_pc-2", tool: "a__b" }, naming),
    "my_pc-2__a__b",
  );
  assertEquals(
    toolName({ computer: "laptop", tool: "echo" }, {
      limit: 48,
      prefix: false,
    }),
    "echo",
  );
});

Deno.test("toolName() gives a Computer whose name cannot stand one short hash, the same for all tools", () => {
  const [first, second] = ["echo", "add"].map((tool) =>
    toolName({ computer: "build box", tool }, naming)
  );
  assertMatch(first ?? "", /^build_box-[0-9a-v]{4}__echo$/);
  assertEquals(second, first?.replace("echo", "add"));
  for (const odd of ["a__b", "a_", "日本", "", "x".repeat(60)]) {
    const part = computerPart(odd, 48);
    assertMatch(part, /^[A-Za-z0-9_-]*-[0-9a-v]{4}$/);
    assert(!part.includes("__") && part.length <= 22, part);
  }
});

Deno.test("isPlainName() tells which Computers are named as they are by default", () => {
  const names = ["a", "a_b-C", "x".repeat(22), "x".repeat(23), "a__b", "a_"];
  for (const name of [...names, "", "a b", "a.local", "日本"]) {
    assertEquals(isPlainName(name), computerPart(name, 48) === name, name);
  }
});

Deno.test("toolName() cuts a long tool, replaces what cannot stand, and adds a hash of both names", () => {
  const long = toolName({ computer: "laptop", tool: "x".repeat(85) }, naming);
  assertMatch(long, /^laptop__x+_[0-9a-v]{6}$/);
  assertEquals(long.length, 48);
  assertMatch(
    toolName({ computer: "laptop", tool: "read file.txt" }, naming),
    /^laptop__read_file_txt_[0-9a-v]{6}$/,
  );
  const here = toolName({ computer: "laptop", tool: "a b" }, naming);
  const there = toolName({ computer: "desktop", tool: "a b" }, naming);
  assert(here.slice(-6) !== there.slice(-6));
  assertMatch(
    toolName({ computer: "pc", tool: "" }, naming),
    /^pc__tool_[0-9a-v]{6}$/,
  );
});

Deno.test("0.4 §3.5: toolName() keeps a bundle_id where it fits, and leaves it out before the tool's own name", () => {
  const named = (tool: string, bundleId: string) =>
    toolName({ computer: "laptop", tool, bundleId }, naming);
  assertEquals(named("files__read", "files"), "laptop__files__read");
  const id = "github-enterprise-server";
  const long = named(`${id}__create_pull_request`, id);
  assertMatch(long, /^laptop__create_pull_request_[0-9a-v]{6}$/);
  assert(
    long !==
      named(
        "other-enterprise-server1__create_pull_request",
        "other-enterprise-server1",
      ),
  );
  assertEquals(long, named(`${id}__create_pull_request`, id));
  assertMatch(
    named("files__read file", "files"),
    /^laptop__files__read_file_[0-9a-v]{6}$/,
  );
  // Nothing is left out that is not the id.
  assertMatch(
    named(`${id}_create_pull_request`, id),
    /^laptop__github-enterprise-server_create_p_[0-9a-v]{6}$/,
  );
});

Deno.test("toolName() gives another name at another attempt", () => {
  const names = [0, 1, 2].map((attempt) =>
    toolName({ computer: "laptop", tool: "echo" }, naming, attempt)
  );
  assertEquals(new Set(names).size, 3);
  assert(names.every((name) => A_NAME.test(name)));
});

const anyName = fc.oneof(
  fc.string({ minLength: 1, maxLength: 256 }),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 100 }),
  fc.stringMatching(/^[a-zA-Z0-9_. -]{1,85}$/),
);

Deno.test("toolName() keeps to alphabet and limit for any names", () => {
  fc.assert(
    fc.property(
      fc.record({ computer: anyName, tool: anyName }),
      fc.record({
        limit: fc.integer({ min: 24, max: 128 }),
        prefix: fc.boolean(),
      }),
      fc.nat(3),
      (parts, naming, attempt) => {
        const name = toolName(parts, naming, attempt);
        assertMatch(name, A_NAME);
        assert(name.length <= naming.limit, name);
      },
    ),
    { numRuns: 10_000 },
  );
});
