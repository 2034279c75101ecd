import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { ProtocolError } from "../../../protocol/errors.ts";
import {
  checkVersion,
  isCompatible,
  parseVersion,
  supportedRange,
  type VersionCheck,
} from "../../../protocol/handshake.ts";
import {
  eventOf,
  nameOfProfile,
  PROFILES,
  shownTo,
  unknownTo,
} from "../../../protocol/profiles.ts";
import {
  PROTOCOL_NAMES,
  PROTOCOL_VERSION,
  SMCP_NAMESPACE,
  VERSION_PARAMETER,
} from "../../../protocol/version.ts";

/** Spec §2's table: client, server, whether the gate lets it pass. */
const TABLE: [client: string, server: string, compatible: boolean][] = [
  ["0.2.0", "0.2.0", true],
  ["0.2.1", "0.2.0", true],
  ["0.2.0", "0.3.0", false],
  ["0.3.0", "0.2.0", false],
  ["1.0.0", "0.2.0", false],
  ["1.0.0", "1.2.0", true],
  ["1.2.0", "1.0.0", false],
];

/** What follows from the rule, beyond the table. */
const RULE: [client: string, server: string, compatible: boolean][] = [
  ["0.2.0", "0.2.7", true],
  ["0.2.9007199254740991", "0.2.0", true],
  ["0.1.5", "0.2.0", false],
  ["0.2.0", "1.2.0", false],
  ["1.2.99", "1.2.0", true],
  ["1.2.0", "1.2.99", true],
  ["2.0.0", "1.9.0", false],
  ["1.9.0", "2.9.0", false],
  ["0.0.1", "0.0.9", true],
];

/** Everything that is not exactly three plain non-negative integers. */
const INVALID = [
  ...["abc", "1.2", "1.2.3.4", "v0.2.0", "0.2.0-rc1", "0.2.0+build"],
  ...["00.2.0", "0.02.0", "0.2.00", " 0.2.0", "0.2.0 ", "0.2.0\n", "", "."],
  ...["..", "0..0", "-0.2.0", "+0.2.0", "0.-2.0", "0x0.2.0", "1e1.2.0"],
  ...["0,2,0", "٠.٢.٠", "9007199254740992.0.0", "0.9007199254740992.0"],
  ...["0.2.9007199254740992", `${"9".repeat(400)}.0.0`],
];

const PLAIN_INTEGERS = /^Invalid a2c_version: .+/;

const bodyBytes = (result: VersionCheck): string =>
  JSON.stringify(result.ok ? undefined : result.body);

Deno.test("PROTOCOL_VERSION and the constants of the handshake are those of the spec", () => {
  assertEquals(PROTOCOL_VERSION, "0.2.0");
  assertEquals(SMCP_NAMESPACE, "/smcp");
  assertEquals(VERSION_PARAMETER, "a2c_version");
});

Deno.test("isCompatible() answers as the version table of the spec", () => {
  for (const [client, server, compatible] of [...TABLE, ...RULE]) {
    const at = `${client} → ${server}`;
    assertEquals(isCompatible(client, server), compatible, at);
    assertEquals(
      isCompatible(parseVersion(client), parseVersion(server)),
      compatible,
      at,
    );
  }
});

Deno.test("parseVersion() reads three plain non-negative integers", () => {
  const { major, minor, patch } = parseVersion("10.20.9007199254740991");
  assertEquals([major, minor, patch], [10, 20, Number.MAX_SAFE_INTEGER]);
});

Deno.test("parseVersion() refuses everything else as 400 that says why", () => {
  for (const text of INVALID) {
    const error = assertThrows(() => parseVersion(text), ProtocolError);
    assertEquals(error.code, 400, text);
    assertMatch(error.message, PLAIN_INTEGERS, text);
  }
  const quoted = (text: string) =>
    assertThrows(() => parseVersion(text), Error).message.split("got ")[1];
  const long = "x".repeat(40);
  assertEquals(quoted(long), `"${long}"`);
  assertEquals(quoted(`${long}y`), `"${long}…"`);
});

Deno.test("supportedRange() is one minor before 1.0, all minors up to the server's from then on", () => {
  const ranges: [server: string, min: string, max: string][] = [
    ["0.2.0", "0.2.0", "0.2.999"],
    ["0.1.7", "0.1.0", "0.1.999"],
    ["1.0.0", "1.0.0", "1.0.999"],
    ["1.4.2", "1.0.0", "1.4.999"],
    ["2.3.0", "2.0.0", "2.3.999"],
  ];
  for (const [server, min, max] of ranges) {
    assertEquals(supportedRange(server), { min, max }, server);
  }
});

Deno.test("checkVersion() lets compatible versions pass, and says which it was", () => {
  for (const [client, server, compatible] of [...TABLE, ...RULE]) {
    const at = `${client} → ${server}`;
    const result = checkVersion([client], server);
    assertEquals(result.ok, compatible, at);
    if (result.ok) assertEquals(result.version, client, at);
    else assertEquals(result.body.code, 4008, at);
  }
});

Deno.test("checkVersion() answers a missing, repeated or incompatible version with the exact bytes", () => {
  const mismatch = '{"code":4008,"message":"Protocol version mismatch"';
  const rows: [sent: string[], server: string, body: string][] = [
    [
      [],
      "0.2.0",
      '{"code":400,"message":"Missing a2c_version query parameter"}',
    ],
    [
      ["0.2.0", "0.2.0"], // even the right one
      "0.2.0",
      '{"code":400,"message":"Invalid a2c_version: given 2 times, expected once"}',
    ],
    [
      ["0.1.5"],
      "0.2.0",
      `${mismatch},"server_version":"0.2.0","client_version":"0.1.5","min_supported":"0.2.0","max_supported":"0.2.999"}`,
    ],
    [
      ["1.3.0"],
      "1.2.4",
      `${mismatch},"server_version":"1.2.4","client_version":"1.3.0","min_supported":"1.0.0","max_supported":"1.2.999"}`,
    ],
  ];
  for (const [sent, server, body] of rows) {
    assertEquals(bodyBytes(checkVersion(sent, server)), body);
  }
});

Deno.test("checkVersion() answers an invalid version with 400 and why, a hostile one in short", () => {
  const hostile = ["9".repeat(10_000), "x".repeat(10_000)];
  for (const text of [...INVALID, ...hostile]) {
    const result = checkVersion([text], PROTOCOL_VERSION);
    assert(!result.ok, text);
    assertEquals(Object.keys(result.body), ["code", "message"], text);
    assertEquals(result.body.code, 400, text);
    assertMatch(result.body.message, PLAIN_INTEGERS, text);
    assert(bodyBytes(result).length < 200, text);
  }
});

Deno.test("nameOfProfile() names the version of each profile", () => {
  for (const name of PROTOCOL_NAMES) {
    assertEquals(nameOfProfile(PROFILES[name]), name);
  }
  assertThrows(
    () => nameOfProfile({ ...PROFILES["0.4"], version: "9.9.9" }),
    RangeError,
    "No version has this profile: 9.9.9",
  );
});

Deno.test("eventOf() finds the event of a version's name, an older one included", () => {
  const { "0.1": oldest, "0.4": newest } = PROFILES;
  const renamed = Object.entries(oldest.olderNames);
  assert(renamed.length > 0);
  for (const [event, older] of renamed) {
    const isRequest = !event.startsWith("notify:");
    assertEquals(eventOf(oldest, older), isRequest ? event : undefined, older);
    assertEquals(eventOf(newest, older), undefined, older);
  }
  assertEquals(eventOf(newest, "client:get_dpe"), "client:get_dpe");
  assertEquals(eventOf(oldest, "client:get_dpe"), undefined);
  assertEquals(eventOf(newest, "client:unknown"), undefined);
});

const OLD = PROFILES["0.2"];

Deno.test("unknownTo() is the 400 that names the Computer, its version and the event (protocol §3)", () => {
  assertEquals(unknownTo("laptop", OLD, "client:put_blob").toPayload(), {
    computer: "laptop",
    code: 400,
    message: "laptop speaks A2C-SMCP 0.2, which has no client:put_blob",
  });
  assertEquals(
    unknownTo("old", PROFILES["0.1"], "client:get_resources").message,
    "old speaks A2C-SMCP 0.1, which has no client:get_resources",
  );
});

Deno.test("shownTo() leaves a2c_version out for 0.1 alone, whatever the member speaks (protocol §12)", () => {
  const info = {
    ...{ sid: "s", name: "pc", role: "computer", office_id: "o" } as const,
    a2c_version: "0.4.0",
  };
  const { a2c_version: _, ...without } = info;
  for (const [name, profile] of Object.entries(PROFILES)) {
    assertEquals(shownTo(profile, info), name === "0.1" ? without : info);
  }
});
