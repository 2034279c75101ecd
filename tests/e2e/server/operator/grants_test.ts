import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { apiKeys } from "../../../../server/mod.ts";
import { runHere, runMain } from "../../../support/command.ts";
import { captureLog } from "../../../support/log_capture.ts";
import { grantView, signInWith } from "../../../support/server/grants.ts";
import {
  operate,
  operated,
  TOKEN,
} from "../../../support/server/operator_client.ts";

const CLAUDE = grantView();
const CODEX = grantView({ id: "g2", office: "lab", program: "Codex" });
const GUEST = grantView({ id: "g3", principal: "key:guest" });
const GRANTS = [GUEST, CODEX, CLAUDE];
const reason = "the laptop is lost";

const signedIn = () =>
  operated({
    signIn: signInWith(GRANTS),
    authenticator: apiKeys([
      { id: "lab", key: "key-of-lab", roles: ["operator"], offices: ["lab*"] },
    ]),
  });

Deno.test("operators see grants, the newest first, all or those of an office or a key", async () => {
  await using office = await signedIn();
  const { get } = office;
  assertEquals((await get("/grants")).body, {
    url: "https://smcp.example.com/mcp",
    grants: GRANTS,
  });
  const ids = async (query: string, token = TOKEN) =>
    (await get(`/grants?${query}`, token)).body.grants
      .map(({ id }: { id: string }) => id);
  assertEquals(await ids("office=home"), ["g3", "g1"]);
  assertEquals(await ids("principal=key:me"), ["g2", "g1"]);
  assertEquals(await ids("office=home&principal=key:me"), ["g1"]);
  assertEquals(await ids("office=none"), []);
  assertEquals((await get("/status")).body.sign_in, true);
});

Deno.test("an operator of some offices sees and ends the grants of those alone", async () => {
  await using office = await signedIn();
  const { get, url } = office;
  const { body } = await get("/grants", "key-of-lab");
  assertEquals(body.grants, [CODEX]);
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
  assertEquals((await end({ principal: "key:me" })).body, { ended: [CODEX] });
  assertEquals((await get("/grants")).body.grants, [GUEST, CLAUDE]);
});

Deno.test("an operator ends a grant, or all of a key or an office; each is in the audit log and the stream with who and why", async () => {
  using log = captureLog();
  await using office = await signedIn();
  const { post, events } = office;
  await using stream = await events();
  await stream.nextOf("open");
  const end = (which: object) => post("/grants/end", { reason, ...which });
  const first = await end({ id: "g1" });
  assertEquals([first.status, first.body], [200, { ended: [CLAUDE] }]);
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
  assertEquals((await end({ office: "home" })).body, { ended: [GUEST] });
  assertEquals((await end({ principal: "key:me" })).body, { ended: [CODEX] });
  const none = await end({ principal: "key:me" });
  assertEquals([none.status, none.body.errors[0].field], [404, "principal"]);
});

Deno.test("what ends grants names one of id, key and office, and a reason", async () => {
  await using office = await signedIn();
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
  assertEquals((await get("/grants")).body.grants, GRANTS);
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
  const now = Date.now();
  const at = (ms: number) => new Date(now + ms).toISOString();
  const HOUR = 3_600_000;
  const times = {
    since: at(-50 * HOUR),
    used: at(-30_000),
    expires: at(29.5 * 24 * HOUR),
  };
  const computers = { except: ["laptop"] };
  const { vouched_by: _, ...nobody } = grantView({ id: "g2", program: "" });
  const grants = [{ ...nobody, ...times }, {
    ...grantView({ office: "lab", computers }),
    ...times,
    used: at(-90 * 60_000),
  }];
  await using office = await operated({ signIn: signInWith(grants) });
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
  const ages = ["2 days ago", "just now", "in 29 days"];
  assertEquals(rows, [
    ["ID", "PROGRAM", "VOUCHED BY", "OFFICE", "KEY"].concat(
      ["COMPUTERS", "SINCE", "USED", "EXPIRES"],
    ),
    ["g2", "(no name)", "-", "home", "key:me", "all", ...ages],
    ["g1", "Claude", "claude.ai", "lab", "key:me", "all but laptop"].concat(
      ["2 days ago", "1 hour ago", "in 29 days"],
    ),
  ]);
  assertEquals(JSON.parse(await run("--json")), grants);
  assertEquals(JSON.parse(await run("--office", "lab", "--json")), [grants[1]]);
  assertEquals(JSON.parse(await run("--key", "me", "--json")), grants);
  assertEquals(JSON.parse(await run("--key", "jwt:me", "--json")), []);
  assertEquals(await run("--key", "x"), "no program has signed in there\n");
});

Deno.test("smcp-server grants end ends one, or all of a key or an office, and nothing by a variable of clients", async () => {
  await using office = await operated({ signIn: signInWith(GRANTS) });
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
  assertEquals((await office.get("/grants")).body.grants, GRANTS);
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
    "no program has signed in; it needs the URL https://smcp.example.com/mcp alone\n",
  );
});
