import { assertEquals } from "@std/assert";
import { groupTests } from "../../../tools/group_tests.ts";

const many = (folder: string, count: number) =>
  Array.from(
    { length: count },
    (_, at) => `${folder}/${String(at).padStart(2, "0")}_test.ts`,
  );

Deno.test("groupTests() joins at most eight files of one area, and loses none", () => {
  const files = [
    ...many("tests/docs", 2),
    ...many("tests/e2e/computer", 3),
    ...many("tests/e2e/computer/host", 6),
    ...many("tests/unit/agent", 16),
  ];
  const groups = groupTests(files);
  assertEquals(
    groups.map(({ name, files }) => [name, files.length]),
    [
      ["docs_1", 2],
      ["e2e_computer_1", 8],
      ["e2e_computer_2", 1],
      ["unit_agent_1", 8],
      ["unit_agent_2", 8],
    ],
  );
  assertEquals(groups.flatMap(({ files }) => files), files);
});

Deno.test("groupTests() puts unit tests last, and else keeps the order", () => {
  const folders = ["docs", "unit/agent", "unit/shared", "wire"];
  assertEquals(
    groupTests(folders.flatMap((folder) => many(`tests/${folder}`, 1)))
      .map(({ name }) => name),
    ["docs_1", "wire_1", "unit_agent_1", "unit_shared_1"],
  );
});

Deno.test("groupTests() makes no group of nothing", () => {
  assertEquals(groupTests([]), []);
});
