import { assertEquals } from "@std/assert";
import type { Policy } from "../../../../server/shared/identity.ts";
import {
  checkIdentity,
  checkPolicy,
  matches,
} from "../../../../server/shared/identity.ts";
import {
  checkOrigin,
  exposure,
  isLoopback,
} from "../../../../server/http/host_rule.ts";

const table: [pattern: string, text: string, fits: boolean][] = [
  ["north", "north", true],
  ["north", "North", false],
  ["north", "north2", false],
  ["*", "", true],
  ["*", "anything", true],
  ["team-*", "team-", true],
  ["team-*", "team-a", true],
  ["team-*", "a-team-a", false],
  ["*-lab", "north-lab", true],
  ["*-lab", "north-lab2", false],
  ["a*c*e", "abcde", true],
  ["a*c*e", "ace", true],
  ["a*c*e", "aec", false],
  ["ab*ba", "aba", false],
  ["**", "x", true],
  ["a.c", "abc", false],
  ["[a-z]", "b", false],
  ["", "", true],
  ["", "x", false],
];

Deno.test("matches() treats only * as special, for any text", () => {
  for (const [pattern, text, fits] of table) {
    assertEquals(matches(pattern, text), fits, `${pattern} ~ ${text}`);
  }
});

Deno.test("matches() is fast for any pattern", () => {
  assertEquals(matches("*a".repeat(200) + "b", "a".repeat(256)), false);
});

const seat = { role: "computer", office: "team-a", name: "lab-1" } as const;

Deno.test("checkPolicy() allows what every field allows, and names the one that does not (spec §10)", () => {
  const allowed: Policy[] = [
    {},
    { roles: ["computer"] },
    { roles: ["agent", "computer"], offices: ["team-*"], names: ["lab-1"] },
    { offices: ["x", "team-a"] },
  ];
  for (const policy of allowed) {
    assertEquals(checkPolicy(policy, seat), undefined, JSON.stringify(policy));
  }
  const refused: [Policy, string][] = [
    [
      { roles: ["agent"] },
      "Not allowed to join as computer: the credentials are for agent",
    ],
    [
      { roles: [] },
      "Not allowed to join as computer: the credentials are for no role",
    ],
    [{ offices: ["team-b"] }, "Not allowed to join this office"],
    [{ offices: [] }, "Not allowed to join this office"],
    [{ names: ["lab-2"] }, 'Not allowed to join under the name "lab-1"'],
    [
      { roles: ["computer"], offices: ["*"], names: [] },
      'Not allowed to join under the name "lab-1"',
    ],
  ];
  for (const [policy, reason] of refused) {
    assertEquals(checkPolicy(policy, seat), reason);
  }
});

Deno.test("checkIdentity() refuses expired credentials, regardless of the policy", () => {
  const identity = { principal: "p", expiresAt: 1000 };
  assertEquals(checkIdentity(identity, seat, 999), undefined);
  assertEquals(
    checkIdentity(identity, seat, 1000),
    "The credentials have expired: connect again with new ones",
  );
  assertEquals(checkIdentity({ principal: "p" }, seat, 1e15), undefined);
});

Deno.test("isLoopback() accepts only loopback addresses", () => {
  const own = ["127.0.0.1", "127.8.9.10", "::1", "localhost", "LOCALHOST"];
  for (const host of own) assertEquals(isLoopback(host), true, host);
  const others = [
    ...["0.0.0.0", "::", "", "10.0.0.1", "192.168.1.1", "128.0.0.1"],
    ...["example.com", "localhost.example.com", "127.0.0.1.example.com"],
  ];
  for (const host of others) assertEquals(isLoopback(host), false, host);
});

Deno.test("exposure() finds a public address without authentication (spec §10)", () => {
  assertEquals(exposure("127.0.0.1", false), undefined);
  assertEquals(exposure("0.0.0.0", true), undefined);
  assertEquals(
    exposure("0.0.0.0", false),
    "0.0.0.0 without authentication: anybody could use the tools of every computer",
  );
});

Deno.test("checkOrigin() allows listed origins, and requests without one", () => {
  const listed = ["https://a.example"];
  const check = (origin: string | undefined, origins: "*" | string[]) =>
    checkOrigin({ origin, site: undefined }, origins);
  assertEquals(check(undefined, []), undefined);
  assertEquals(check("https://a.example", listed), undefined);
  assertEquals(check("https://anything.example", "*"), undefined);
  const foreign = [
    ...["https://b.example", "http://a.example", "https://a.example:8443"],
    ...["https://a.example.evil.example", "null", ""],
  ];
  for (const origin of foreign) {
    assertEquals(check(origin, listed)?.status, 403, origin);
  }
});

Deno.test("checkOrigin() refuses resources that a page of another site loads without an Origin", () => {
  const status = (site: string, origins: "*" | string[], origin?: string) =>
    checkOrigin({ origin, site }, origins)?.status;
  const listed = ["https://a.example"];
  for (const site of ["cross-site", "same-site", "", "odd"]) {
    assertEquals(status(site, listed), 403, site);
    assertEquals(status(site, listed, "https://a.example"), undefined, site);
    assertEquals(status(site, "*"), undefined, site);
  }
  for (const site of ["same-origin", "none"]) {
    assertEquals(status(site, listed), undefined, site);
    assertEquals(status(site, listed, "https://b.example"), 403, site);
  }
});
