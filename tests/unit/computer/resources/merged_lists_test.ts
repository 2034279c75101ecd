import fc from "fast-check";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import {
  fitItems,
  type ItemSize,
  MergedLists,
} from "../../../../computer/requests/merged_lists.ts";
import { jsonBytes } from "../../../../client/message_limits.ts";
import {
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_FINDER_EVENT,
  GET_PROMPTS_EVENT,
  GET_RESOURCES_EVENT,
  GET_SKILLS_EVENT,
  GET_TOOLS_EVENT,
  ProtocolError,
} from "../../../../protocol/mod.ts";
import { countValues } from "../../../../shared/json/values.ts";

const size: fc.Arbitrary<ItemSize> = fc.record({
  owner: fc.constantFrom("a", "b", "c", "d"),
  bytes: fc.integer({ min: 1, max: 100 }),
  values: fc.integer({ min: 1, max: 100 }),
});
const room = fc.record({
  bytes: fc.integer({ min: 1, max: 2_000 }),
  values: fc.integer({ min: 1, max: 2_000 }),
  items: fc.integer({ min: 1, max: 40 }),
});

Deno.test("fitItems() keeps within the room, all items of an owner that takes at most its part, and always chooses the same", () => {
  fc.assert(
    fc.property(fc.array(size, { maxLength: 40 }), room, (items, room) => {
      const kept = fitItems(items, room);
      assertEquals(kept, fitItems(items, room));
      const chosen = items.filter((_, at) => kept[at]);
      const sum = (field: "bytes" | "values", of: readonly ItemSize[]) =>
        of.reduce((sum, item) => sum + item[field], 0);
      const slack = 1e-9 * room.bytes;
      assert(sum("bytes", chosen) <= room.bytes + slack);
      assert(sum("values", chosen) <= room.values + slack);
      assert(chosen.length <= room.items);
      const owners = Map.groupBy(items.keys(), (at) => items[at]?.owner);
      for (const own of owners.values()) {
        const part = own.reduce((sum, at) => {
          const { bytes = 0, values = 0 } = items[at] ?? {};
          return sum +
            Math.max(bytes / room.bytes, values / room.values, 1 / room.items);
        }, 0);
        const isSmall = part <= 1 / owners.size - 1e-9;
        if (isSmall) assert(own.every((at) => kept[at]));
      }
    }),
  );
});

Deno.test("MergedLists shortens every merged list of a Computer, keeps the order, and names what is left out", () => {
  const text = "x".repeat(1_000);
  const rows: [
    event: Parameters<MergedLists["fit"]>[0],
    field: string,
    item: (at: number) => unknown,
    named: RegExp,
  ][] = [
    [
      GET_TOOLS_EVENT,
      "tools",
      (at) => ({ name: `t${at}`, text, meta: { a2c_mcp_server: "big" } }),
      /^\d+ tools of MCP server "big" are left out, .* at most 9000; .* Left out: t7, .* and 3 more$/,
    ],
    [
      GET_DESKTOP_EVENT,
      "desktops",
      (at) => `window://a/${at}\n\n${text}`,
      /^\d+ windows are left out, .* window:\/\/a\/7, .* and 3 more$/,
    ],
    [
      GET_SKILLS_EVENT,
      "skills",
      (at) => ({ name: `s${at}`, source: "user", text }),
      /^\d+ skills of source "user" are left out, .* s7, .* and 3 more$/,
    ],
    [
      GET_PROMPTS_EVENT,
      "prompts",
      (at) => ({ name: `p${at}`, mcp_server: "big", text }),
      /^\d+ prompts of MCP server "big" are left out, .* p7, .* and 3 more$/,
    ],
  ];
  for (const [event, field, item, named] of rows) {
    let changes = 0;
    const lists = new MergedLists(() => changes++);
    const answer = (count: number): Record<string, unknown> => ({
      [field]: Array.from({ length: count }, (_, at) => item(at)),
      req_id: "1",
    });
    const whole = answer(20);
    for (let twice = 0; twice < 2; twice++) {
      const fitted = lists.fit(event, whole, 9_000);
      assert(jsonBytes(fitted) <= 9_000);
      const items = fitted[field];
      assert(Array.isArray(items) && items.length > 0 && items.length < 20);
      assertEquals(items, answer(items.length)[field]);
      assertEquals(lists.problems.length, 1);
      assertMatch(lists.problems[0] ?? "", named);
      assertEquals(changes, 1);
    }
    // Nothing is said of an answer that is no message.
    assertEquals(lists.fit(event, whole, undefined), whole);
    assertEquals(lists.problems.length, 1);
    const few = answer(2);
    assertEquals(lists.fit(event, few, 9_000), few);
    assertEquals([lists.problems, changes], [[], 2]);
  }
});

Deno.test("MergedLists gives each document in one page, in their order, and names only those that fit no message", () => {
  const arbitrary = fc.record({
    bytes: fc.array(fc.integer({ min: 0, max: 6_000 }), { maxLength: 30 }),
    most: fc.integer({ min: 1_000, max: 9_000 }),
    limit: fc.integer({ min: 1, max: 30 }),
  });
  fc.assert(fc.property(arbitrary, ({ bytes, most, limit }) => {
    const lists = new MergedLists(() => {});
    const all = bytes.map((length, at) => ({
      uri: `dpe://a/${at}`,
      server: "s",
      title: "x".repeat(length),
    }));
    const answer = { documents: all, total_count: all.length, req_id: "1" };
    const { documents } = lists.sendable(GET_FINDER_EVENT, answer, most);
    const { problems } = lists;
    const came: object[] = [];
    while (came.length < documents.length) {
      const wanted = documents.slice(came.length, came.length + limit);
      const page = { ...answer, documents: wanted };
      const fitted = lists.fit(GET_FINDER_EVENT, page, most);
      assert(jsonBytes(fitted) <= most);
      assert(fitted.documents.length > 0);
      came.push(...fitted.documents);
    }
    assertEquals(came, documents);
    assertEquals(lists.problems, problems);
    const left = all.filter((document) => !documents.includes(document));
    assertEquals(problems.length, left.length === 0 ? 0 : 1);
    assert(left.every((document) => jsonBytes(document) > most / 2));
    for (const { uri } of left.slice(0, 10)) {
      assert(problems.join().includes(uri));
    }
    assertEquals(lists.sendable(GET_FINDER_EVENT, answer, undefined), answer);
  }));
});

Deno.test("MergedLists keeps within the bound of values, the items that can be translated, and the levels of a message", () => {
  const lists = new MergedLists(() => {});
  const braces = (length: number) => Array.from({ length }, () => ({}));
  const skills = Array.from({ length: 4 }, (_, at) => ({
    name: `s${at}`,
    source: at === 3 ? "small" : "big",
    skill_metadata: { braces: braces(at === 3 ? 1 : 40_000) },
  }));
  const fitted = lists.fit(GET_SKILLS_EVENT, { skills, req_id: "1" }, 2 ** 23);
  assertEquals(fitted.skills.map(({ name }) => name), ["s0", "s3"]);
  assert(countValues(JSON.stringify(fitted)) <= 100_000);
  const tools = (more: object) =>
    Array.from({ length: 10_001 }, (_, at) => ({ name: `t${at}`, ...more }));
  const fit = (more: object) =>
    lists.fit(GET_TOOLS_EVENT, { tools: tools(more), req_id: "1" }, 2 ** 23)
      .tools.length;
  assertEquals([fit({}), fit({ bundle_id: "a" })], [10_000, 10_001]);
  let deep: unknown = {};
  for (let at = 0; at < 63; at++) deep = [deep];
  const prompts = [{ name: "deep", deep }, { name: "flat" }];
  for (const limit of [undefined, 2 ** 23]) {
    const fitted = lists.fit(
      GET_PROMPTS_EVENT,
      { prompts, req_id: "1" },
      limit,
    );
    assertEquals(fitted.prompts, [{ name: "flat" }]);
  }
});

Deno.test("an answer that may not be shortened is refused with 500, its size and the limit", () => {
  const lists = new MergedLists(() => {});
  const text = "x".repeat(1_000);
  for (
    const [event, answer] of [
      [GET_RESOURCES_EVENT, { resources: [{ uri: "a:b", text }], req_id: "1" }],
      [GET_CONFIG_EVENT, { servers: { text } }],
    ] as const
  ) {
    const error = assertThrows(
      () => lists.fit(event, answer, 500),
      ProtocolError,
    );
    const { code, limit, count, max } = error.toPayload() as unknown as Record<
      string,
      unknown
    >;
    assertEquals([code, limit, count, max], [
      500,
      "bytes",
      jsonBytes(answer),
      500,
    ]);
  }
  const many = { resources: Array.from({ length: 40_000 }, () => ({ a: 1 })) };
  const error = assertThrows(
    () => lists.fit(GET_RESOURCES_EVENT, many, 2 ** 23),
    ProtocolError,
  );
  assertMatch(error.message, /accepts at most 100000$/);
});
