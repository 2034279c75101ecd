import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { anyOf, apiKeys } from "../../../../server/mod.ts";
import { runHere, runMain } from "../../../support/command.ts";
import { captureLog } from "../../../support/log_capture.ts";
import {
  holderOf,
  HOLDERS,
  signedIn,
  usedGrant,
} from "../../../support/server/grants.ts";
import {
  operate,
  operated,
  TOKEN,
} from "../../../support/server/operator_client.ts";

const HOUR_MS = 3_600_000;
const NOW = Date.now();
const CODEX = { id: "https://chatgpt.com/codex", name: "Codex" };
const GRANTS = [
  usedGrant(),
  usedGrant({
    id: "g2",
    office: "lab",
    client: CODEX,
    computers: { only: ["pc"] },
    createdAt: NOW - 49 * HOUR_MS,
  }),
  usedGrant({
    id: "g3",
    by: holderOf("guest"),
    createdAt: NOW - 48 * HOUR_MS,
  }),
];
const reason = "the laptop is lost";

const served = async () =>
  await operated({
    ...await signedIn(GRANTS),
    authenticator: anyOf([
      apiKeys([
        {
          id: "lab",
          key: "key-of-lab",
          roles: ["operator"],
          offices: ["lab*"],
        },
      ]),
      HOLDERS,
    ]),
  });

/** The ids of grants in an answer. */
const idsOf = (grants: readonly { readonly id: string }[]) =>
  grants.map(({ id }) => id);

Deno.test("operators see grants, the newest first, all or those of an office or a key", async () => {
  await using office = await served();
  const { get, url } = office;
  const { body } = await get("/grants");
  assertEquals([body.url, idsOf(body.grants)], [`${url}/mcp`, [
    "g3",
    "g2",
    "g1",
  ]]);
  const iso = (at: number) => new Date(at).toISOString();
  const [claude] = GRANTS;
  assertEquals(body.grants[2], {
    id: "g1",
    principal: "key:me",
    office: "home",
    program: "Claude",
    vouched_by: "claude.ai",
    computers: { except: [] },
    since: iso(claude?.createdAt ?? 0),
    used: iso(claude?.usedAt ?? 0),
    expires: iso((claude?.rotatedAt[0] ?? 0) + 30 * 24 * HOUR_MS),
  });
  const { vouched_by, computers } = body.grants[1];
  assertEquals([vouched_by, computers], [undefined, { only: ["pc"] }]);
  const ids = async (query: string, token = TOKEN) =>
    idsOf((await get(`/grants?${query}`, token)).body.grants);
  assertEquals(await ids("office=home"), ["g3", "g1"]);
  assertEquals(await ids("principal=key:me"), ["g2", "g1"]);
  assertEquals(await ids("office=home&principal=key:me"), ["g1"]);
  assertEquals(await ids("office=none"), []);
  assertEquals((await get("/status")).body.sign_in, true);
});

Deno.test("an operator of some offices sees and ends the grants of those alone", async () => {
  await using office = await served();
  const { get, url } = office;
  const { body } = await get("/grants", "key-of-lab");
  assertEquals(idsOf(body.grants), ["g2"]);
  const hidden = await get("/grants?office=home", "key-of-lab");
  assertEquals(hidden.body.grants, []);
  const end = (which: object) =>
    operate(url, "/grants/end", {
      token: "key-of-lab",
      post: { reason, ...which },
    });
  for (const which of [{ id: "g1" }, { office: "home" }]) {
    assertEquals((await end(which)).status, 404);
  }
  const { ended } = (await end({ principal: "key:me" })).body;
  assertEquals(idsOf(ended), ["g2"]);
  assertEquals(idsOf((await get("/grants")).body.grants), ["g3", "g1"]);
});

Deno.test("an operator ends a grant, or all of a key or an office; each is in the audit log and the stream with who and why", async () => {
  using log = captureLog();
  await using office = await served();
  const { post, events } = office;
  await using stream = await events();
  await stream.nextOf("open");
  const end = (which: object) => post("/grants/end", { reason, ...which });
  const ids = async (which: object) => idsOf((await end(which)).body.ended);
  assertEquals(await ids({ id: "g1" }), ["g1"]);
  const line = {
    event: "grant_ended",
    grant: "g1",
    why: "operator",
    by: "operator",
    reason,
    office: "home",
    principal: "key:me",
    program: "Claude",
    vouched_by: "claude.ai",
  };
  const ended = log.audit.filter(({ event }) => event === "grant_ended");
  assertEquals(ended, [line]);
  const { at: _, ...data } = (await stream.nextOf("grant_ended")).data;
  assertEquals(data, line);
  const again = await end({ id: "g1" });
  assertEquals([again.status, again.body.errors[0].field], [404, "id"]);
  assertEquals(await ids({ office: "home" }), ["g3"]);
  assertEquals(await ids({ principal: "key:me" }), ["g2"]);
  const none = await end({ principal: "key:me" });
  assertEquals([none.status, none.body.errors[0].field], [404, "principal"]);
});

Deno.test("what ends grants names one of id, key and office, and a reason", async () => {
  await using office = await served();
  const { get, post } = office;
  for (
    const wrong of [
      { reason },
      { reason, id: "g1", office: "home" },
      { id: "g1" },
      { reason, all: true },
    ]
  ) {
    assertEquals((await post("/grants/end", wrong)).status, 400);
  }
  const { body } = await post("/grants/end", { reason });
  assertStringIncludes(body.detail, "expected one of id, principal and office");
  assertEquals((await get("/grants")).body.grants.length, 3);
});

Deno.test("a Server without sign-in says so in place of grants", async () => {
  await using office = await operated();
  const { get, post, url } = office;
  for (
    const { status, body } of [
      await get("/grants"),
      await post("/grants/end", { id: "g1", reason }),
    ]
  ) {
    assertEquals([status, body.errors[0].field], [404, "sign-in"]);
    assertStringIncludes(body.detail, "--sign-in");
  }
  assertEquals((await get("/status")).body.sign_in, undefined);
  const { code, stdout, stderr } = await runHere("server", [
    ...["grants", "--url", url, "--token", TOKEN],
  ]);
  assertEquals([code, stdout], [1, ""]);
  assertMatch(stderr, /^error: sign-in: it is off on this Server/);
});

Deno.test("smcp-server grants lists sign-ins in words, or as JSON, of an office or a key", async () => {
  const computers = { except: ["laptop"] };
  const usedAt = NOW - 90 * 60_000;
  const client = { id: "https://example.com/client", name: "" };
  const grants = [
    usedGrant({ office: "lab", computers, usedAt }),
    usedGrant({ id: "g2", client, createdAt: NOW - 49 * HOUR_MS }),
  ];
  await using office = await operated(await signedIn(grants));
  const run = async (...args: string[]) => {
    const at = ["--url", office.url, "--token", TOKEN];
    const { code, stdout, stderr } = await runHere("server", [
      ...["grants", ...args, ...at],
    ]);
    assertEquals([code, stderr], [0, ""]);
    return stdout;
  };
  const rows = (await run()).trimEnd().split("\n")
    .map((line) => line.split(/ {2,}/));
  const heads = ["ID", "PROGRAM", "VOUCHED BY", "OFFICE", "KEY", "COMPUTERS"];
  assertEquals(rows, [
    [...heads, "SINCE", "USED", "EXPIRES"],
    ["g2", "(no name)", "-", "home", "key:me", "all"].concat(
      ["2 days ago", "1 minute ago", "in 29 days"],
    ),
    ["g1", "Claude", "claude.ai", "lab", "key:me", "all but laptop"].concat(
      ["2 days ago", "1 hour ago", "in 29 days"],
    ),
  ]);
  const ids = async (...args: string[]) =>
    idsOf(JSON.parse(await run("--json", ...args)));
  assertEquals(await ids(), ["g2", "g1"]);
  assertEquals(await ids("--office", "lab"), ["g1"]);
  assertEquals(await ids("--key", "me"), ["g2", "g1"]);
  assertEquals(await ids("--key", "jwt:me"), []);
  assertEquals(await run("--key", "x"), "no program has signed in there\n");
});

Deno.test("smcp-server grants end ends one, or all of a key or an office, and nothing by a variable of clients", async () => {
  await using office = await operated(await signedIn(GRANTS));
  const env = { SMCP_OFFICE: "home", SMCP_URL: office.url, SMCP_TOKEN: TOKEN };
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runMain("server", [
      ...["grants", "end", ...args],
    ], { env });
    return [code, stdout, stderr.split("; ")[0]];
  };
  const which = "error: give one of an id, --key and --office";
  assertEquals(await run(), [2, "", which]);
  assertEquals(await run("g1", "--office", "home"), [2, "", which]);
  assertEquals((await office.get("/grants")).body.grants.length, 3);
  const claude = "ended: Claude in home, of key:me (g1)\n";
  assertEquals(await run("g1"), [0, claude, ""]);
  const gone = "error: id: no sign-in has it, or you may not see its office";
  assertEquals(await run("g1"), [1, "", gone]);
  const codex = "ended: Codex in lab, of key:me (g2)\n";
  assertEquals(await run("--key", "me"), [0, codex, ""]);
  const guest = "ended: Claude in home, of key:guest (g3)\n";
  assertEquals(await run("--office", "home"), [0, guest, ""]);
  const none = await runMain("server", ["grants"], { env });
  assertEquals(
    none.stdout,
    `no program has signed in; it needs the URL ${office.url}/mcp alone\n`,
  );
});
