import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { envelopeOf } from "../../../shared/json/envelope.ts";

const END = 4_096;
const LONG = "y".repeat(2 * END);

Deno.test("envelopeOf() finds id and method at either end of a message, and none that is within another member", () => {
  const filler = fc.jsonValue({ maxDepth: 3 });
  const member = fc.tuple(
    fc.constantFrom("jsonrpc", "result", "params", "error", "extra"),
    fc.oneof(
      filler,
      fc.constantFrom<unknown>(
        { id: 99, method: "no" },
        [{ id: 99 }, '","id":99,"method":"no"}'],
        '\\","id":99}',
        "{[",
      ),
    ),
  );
  const message = fc.record({
    others: fc.uniqueArray(member, {
      maxLength: 4,
      selector: ([name]) => name,
    }),
    id: fc.constantFrom<string | number>(7, 'a\\"b', -1, 'x"}'),
    method: fc.constantFrom(undefined, "notifications/message"),
    isFirst: fc.boolean(),
  });
  fc.assert(fc.property(message, ({ others, id, method, isFirst }) => {
    const own = method === undefined ? { id } : { id, method };
    const long = { long: { text: LONG, id: 98 } };
    const text = JSON.stringify(
      isFirst
        ? { ...own, ...Object.fromEntries(others), ...long }
        : { ...long, ...Object.fromEntries(others), ...own },
    );
    assertEquals(envelopeOf(text.slice(0, END), text.slice(-END)), {
      isJson: true,
      ...own,
    });
  }));
});

Deno.test("envelopeOf() finds no id outside of the outermost object, and says whether a line may be a message", () => {
  const rows: [head: string, tail: string, isJson: boolean][] = [
    ['{"jsonrpc":"2.0","result":{"id":5,"a":"yy', 'yy","id":6}}', true],
    ['\ufeff  [{"id":5},', "}]", true],
    ["listening on port 80", 'yy","id":5}x', false],
    ["{", "}", true],
    ["", "", false],
  ];
  for (const [head, tail, isJson] of rows) {
    assertEquals(envelopeOf(head, tail), { isJson }, head);
  }
});
