import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  mayOperate,
  seesAll,
  seesOffice,
} from "../../../../server/shared/identity.ts";
import { apiKeys, createSmcpServer } from "../../../../server/mod.ts";
import { isOwnPage } from "../../../../shared/authorization.ts";

Deno.test("mayOperate() is for those whose policy names the role", () => {
  assert(mayOperate({ roles: ["operator"] }));
  assert(mayOperate({ roles: ["agent", "operator"] }));
  for (
    const policy of [undefined, {}, { roles: [] }, {
      roles: ["agent" as const],
    }]
  ) {
    assert(!mayOperate(policy));
  }
});

Deno.test("seesOffice() and seesAll() go by the policy's offices", () => {
  assert(seesOffice({}, "north") && seesAll({}));
  assert(seesOffice({ offices: ["n*"] }, "north"));
  assert(!seesOffice({ offices: ["n*"] }, "south"));
  assert(!seesAll({ offices: ["n*"] }) && seesAll({ offices: ["*"] }));
  assert(!seesOffice({ offices: [] }, "north"));
});

Deno.test("a key that would restrict the names of an operator is refused", () => {
  assertThrows(
    () => apiKeys([{ id: "ops", key: "k", roles: ["operator"], names: ["a"] }]),
    TypeError,
    'Cannot use the API key "ops": "names" restricts who joins',
  );
  apiKeys([{ id: "o", key: "k", roles: ["agent", "operator"], names: ["a"] }]);
});

Deno.test("a token for operators must be hard to guess, and fit in a header", () => {
  for (const token of ["", "short", "a b".repeat(20)]) {
    assertThrows(
      () => createSmcpServer({ operator: { token } }),
      TypeError,
      "operator.token",
    );
  }
});

Deno.test("isOwnPage() lets no page of another origin pass", () => {
  const table: [string | undefined, string | undefined, string, boolean][] = [
    [undefined, undefined, "a.example", true],
    [undefined, "none", "a.example", true],
    [undefined, "same-origin", "a.example", true],
    [undefined, "same-site", "a.example", false],
    ["https://a.example", undefined, "a.example", true],
    ["https://a.example", "same-origin", "A.example:443", true],
    ["http://a.example:8787", undefined, "a.example:8787", true],
    ["http://a.example", undefined, "a.example:8787", false],
    ["https://b.example", undefined, "a.example", false],
    ["https://a.example.b.example", undefined, "a.example", false],
    ["null", undefined, "a.example", false],
    ["", undefined, "a.example", false],
    ["https://a.example", "cross-site", "a.example", false],
  ];
  for (const [origin, site, host, expected] of table) {
    assertEquals(
      isOwnPage({ origin, site }, host),
      expected,
      `${origin} ${site} ${host}`,
    );
  }
});
