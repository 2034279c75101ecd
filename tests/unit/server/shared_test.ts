import { assertEquals, assertThrows } from "@std/assert";
import { ProtocolError } from "../../../protocol/mod.ts";
import { readHandshakeAuth } from "../../../server/doors/session.ts";
import { checkOrigin, exposure } from "../../../server/http/host_rule.ts";
import {
  checkIdentity,
  checkPolicy,
  matches,
  type Policy,
} from "../../../server/shared/identity.ts";
import { TimeText } from "../../../server/shared/log.ts";

Deno.test("readHandshakeAuth() reads role and instance_id, and refuses invalid ones", () => {
  assertEquals(readHandshakeAuth({}), { role: undefined, instance: undefined });
  assertEquals(
    readHandshakeAuth({ role: "agent", instance_id: "i", token: 5 }),
    { role: "agent", instance: "i" },
  );
  const bad = [
    ...["Agent", "", "server", null, 1, {}, ["agent"]]
      .map((role) => ({ role })),
    ...["", null, 7, {}, "x".repeat(257)]
      .map((instance_id) => ({ instance_id })),
  ];
  for (const auth of bad) {
    const refused = () => readHandshakeAuth(auth);
    assertEquals(assertThrows(refused, ProtocolError).code, 400);
  }
});

Deno.test("TimeText writes what Date does", () => {
  const times = new TimeText();
  const later = Array.from(
    { length: 10_000 },
    (_, i) => 1_795_414_182_606 + i * 37,
  );
  for (const at of [0, 1, 999, 59_999, 60_000, 61_005, -1, ...later]) {
    assertEquals(times.of(at), new Date(at).toISOString());
  }
});

/** All texts of up to so many of these letters. */
const textsOf = (letters: string, most: number): string[] =>
  most === 0 ? [""] : [
    "",
    ...textsOf(letters, most - 1).flatMap((text) =>
      [...letters].map((letter) => letter + text)
    ),
  ];

Deno.test("matches() treats only * as special, for any text, and is fast for any pattern", () => {
  const texts = textsOf("ab", 4);
  for (const pattern of textsOf("ab*", 4)) {
    const expected = new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
    assertEquals(
      texts.filter((text) => matches(pattern, text)),
      texts.filter((text) => expected.test(text)),
      pattern,
    );
  }
  for (const [pattern, text] of [["a.c", "abc"], ["[a-z]", "b"], ["n", "N"]]) {
    assertEquals(matches(pattern!, text!), false);
  }
  assertEquals(matches("*a".repeat(200) + "b", "a".repeat(256)), false);
});

const seat = { role: "computer", office: "team-a", name: "lab-1" } as const;

Deno.test("checkPolicy() allows what every field allows, and names the one that does not (protocol §10)", () => {
  const role = (roles: string) =>
    `Not allowed to join as computer: the credentials are for ${roles}`;
  const OFFICE = "Not allowed to join this office";
  const NAME = 'Not allowed to join under the name "lab-1"';
  const rows: [Policy, reason: string | undefined][] = [
    [{}, undefined],
    [{ roles: ["computer"] }, undefined],
    [
      {
        roles: ["agent", "computer"],
        offices: ["team-*"],
        names: ["lab-1"],
      },
      undefined,
    ],
    [{ offices: ["x", "team-a"] }, undefined],
    [{ roles: ["agent"] }, role("agent")],
    [{ roles: [] }, role("no role")],
    [{ offices: ["team-b"] }, OFFICE],
    [{ offices: [] }, OFFICE],
    [{ names: ["lab-2"] }, NAME],
    [{ roles: ["computer"], offices: ["*"], names: [] }, NAME],
  ];
  for (const [policy, reason] of rows) {
    assertEquals(checkPolicy(policy, seat), reason, JSON.stringify(policy));
  }
});

Deno.test("checkIdentity() refuses expired credentials, regardless of the policy", () => {
  const identity = { principal: "p", expiresAt: 1000 };
  const expired = "The credentials have expired: connect again with new ones";
  assertEquals(
    [
      checkIdentity(identity, seat, 999),
      checkIdentity(identity, seat, 1000),
      checkIdentity({ principal: "p" }, seat, 1e15),
    ],
    [undefined, expired, undefined],
  );
});

Deno.test("exposure() finds a public address without authentication (protocol §10)", () => {
  assertEquals(exposure("127.0.0.1", false), undefined);
  assertEquals(exposure("0.0.0.0", true), undefined);
  assertEquals(
    exposure("0.0.0.0", false),
    "0.0.0.0 without authentication: anyone could use the tools of every Computer",
  );
});

Deno.test("checkOrigin() allows listed origins, and requests without one that no page of another site makes", () => {
  const A = "https://a.example";
  const foreign = [
    ...["https://b.example", "http://a.example", "https://a.example:8443"],
    ...["https://a.example.evil.example", "null", ""],
  ];
  const sites = ["cross-site", "same-site", "", "odd"];
  type Row = [
    origin: string | undefined,
    site: string | undefined,
    origins: "*" | string[],
    status: 403 | undefined,
  ];
  const rows: Row[] = [
    [undefined, undefined, [], undefined],
    [A, undefined, [A], undefined],
    ["https://anything.example", undefined, "*", undefined],
    ...foreign.map((origin): Row => [origin, undefined, [A], 403]),
    ...sites.flatMap((site): Row[] => [
      [undefined, site, [A], 403],
      [A, site, [A], undefined],
      [undefined, site, "*", undefined],
    ]),
    ...["same-origin", "none"].flatMap((site): Row[] => [
      [undefined, site, [A], undefined],
      ["https://b.example", site, [A], 403],
    ]),
  ];
  for (const [origin, site, origins, status] of rows) {
    assertEquals(
      checkOrigin({ origin, site }, origins)?.status,
      status,
      `${origin} ${site} ${origins}`,
    );
  }
});
