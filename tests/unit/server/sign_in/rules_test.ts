import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { readChoice } from "../../../../server/sign_in/pages/page.ts";
import {
  documentUrl,
  keptMs,
  nameToShow,
} from "../../../../server/sign_in/clients.ts";
import type { Grant } from "../../../../server/sign_in/grant.ts";
import { endOf } from "../../../../server/sign_in/grants.ts";
import {
  checkRedirects,
  isSameRedirect,
  placeOf,
  withParameters,
} from "../../../../server/sign_in/redirects.ts";
import { isSeal, Seals } from "../../../../server/sign_in/seals.ts";
import { decideRefresh } from "../../../../server/sign_in/tokens.ts";
import { SignInTries } from "../../../../server/sign_in/oauth.ts";
import { isChosen } from "../../../../shared/computer_choice.ts";

const PROGRAM = { kind: "program" } as const;

const PLACES: Readonly<Record<string, ReturnType<typeof placeOf>>> = {
  "https://claude.ai/api/mcp/auth_callback": {
    kind: "website",
    host: "claude.ai",
  },
  "https://a.example:8443/cb?x=/../y": {
    kind: "website",
    host: "a.example:8443",
  },
  "http://127.0.0.1:33418/": PROGRAM,
  "http://127.0.0.1": PROGRAM,
  "http://[::1]:1/cb": PROGRAM,
  "http://localhost:8787/callback": PROGRAM,
  "cursor://anysphere.cursor-mcp/oauth/callback": {
    kind: "app",
    scheme: "cursor",
  },
  "com.example.app:/callback": { kind: "app", scheme: "com.example.app" },
};

Deno.test("placeOf() shows where each usable redirect leads", () => {
  for (const [uri, place] of Object.entries(PLACES)) {
    assertEquals(placeOf(uri), place, uri);
  }
});

const NO_REDIRECTS = [
  "",
  "http://example.com/cb",
  "http://127.1:80/cb",
  "http://127.0.0.2/cb",
  "http://0x7f000001/cb",
  "http://2130706433/cb",
  "http://[::ffff:127.0.0.1]/cb",
  "http://localhost.:1/cb",
  "http://localhost.evil.example/cb",
  "http://user@localhost/cb",
  "http://localhost:99999/cb",
  "http://LOCALHOST/cb",
  "https://1.2.3.4/cb",
  "https://[::1]/cb",
  "https://localhost/cb",
  "https://a.example./cb",
  "https://user@a.example/cb",
  "https://a.example@evil.example/cb",
  "https://a.example/cb#f",
  "https://a.example/../cb",
  "https://a.example/x/%2e%2E/cb",
  "https://a.example/x%2f..%2fcb",
  "https://a.example\\@evil.example/cb",
  "https://a.example/\\evil",
  "https://a.example/c b",
  "https://a.example/\r\nX: y",
  "https://а.example/cb",
  "https://A.example/cb",
  "https://a.example:99999/cb",
  "javascript:alert(1)",
  "data:text/html,x",
  "file:///etc/passwd",
  "intent://x#Intent;end",
  "cursor://evil/oauth/callback",
  "cursor://anysphere.cursor-mcp/oauth/callback?x",
  "myapp://callback",
  `https://a.example/${"x".repeat(600)}`,
];

Deno.test("placeOf() takes nothing that parsers read in two ways, or browsers run", () => {
  for (const uri of NO_REDIRECTS) assertEquals(placeOf(uri), undefined, uri);
  const more = ["myapp://callback"];
  assertEquals(placeOf("myapp://callback", more), {
    kind: "app",
    scheme: "myapp",
  });
  assertEquals(placeOf("myapp://callback2", more), undefined);
});

Deno.test("checkRedirects() lets no operator allow what a browser runs", () => {
  checkRedirects(["myapp://callback", "http://intranet/cb"]);
  for (
    const uri of ["javascript:x", "JavaScript:x", "data:,", "no uri", "a:#b"]
  ) {
    assertThrows(() => checkRedirects([uri]), TypeError, "Cannot use");
  }
});

Deno.test("isSameRedirect() lets only the port of a loopback URI be another", () => {
  const registered = "http://127.0.0.1:1/cb";
  const cases = {
    "http://127.0.0.1:1/cb": true,
    "http://127.0.0.1:65535/cb": true,
    "http://127.0.0.1/cb": true,
    "http://localhost:1/cb": false,
    "http://[::1]:1/cb": false,
    "http://127.0.0.1:1/cb/": false,
    "http://127.0.0.1:1/cb?x": false,
    "https://127.0.0.1:1/cb": false,
  };
  for (const [asked, same] of Object.entries(cases)) {
    assertEquals(isSameRedirect(registered, asked), same, asked);
  }
  const site = "https://a.example/cb";
  assertEquals(isSameRedirect(site, site), true);
  assertEquals(isSameRedirect(site, "https://a.example:444/cb"), false);
});

Deno.test("withParameters() leaves the text of a redirect as it is", () => {
  const to = withParameters("https://a.example/cb?b=%2F", { iss: "x y" });
  assertEquals(to, "https://a.example/cb?b=%2F&iss=x+y");
});

const DOCUMENTS = {
  "https://claude.ai/oauth/mcp-oauth-client-metadata": true,
  "https://a.example/": false,
  "https://a.example": false,
  "http://a.example/c": false,
  "https://a.example:8443/c": false,
  "https://a.example:443/c": false,
  "https://A.example/c": false,
  "https://a.example/../c": false,
  "https://u@a.example/c": false,
  "https://a.example/c#f": false,
  "https://a.example/c#": false,
  "https://10.0.0.1/c": false,
  "https://0x7f.1/c": false,
  "https://[::1]/c": false,
  "https://localhost/c": false,
  "https://a.example./c": false,
};

Deno.test("documentUrl() takes URLs in normal form, of a name, at port 443", () => {
  for (const [id, usable] of Object.entries(DOCUMENTS)) {
    assertEquals(documentUrl(id) !== undefined, usable, id);
  }
  const long = `https://a.example/${"x".repeat(600)}`;
  assertEquals(documentUrl(long), undefined);
});

Deno.test("keptMs() keeps documents as they state, for five minutes to a day", () => {
  assertEquals(keptMs(null), 300_000);
  assertEquals(keptMs("no-store"), 300_000);
  assertEquals(keptMs("public, max-age=3600"), 3_600_000);
  assertEquals(keptMs("s-maxage=1, max-age=1"), 300_000);
  assertEquals(keptMs("max-age=99999999"), 86_400_000);
});

Deno.test("nameToShow() makes one line of visible characters of any text", () => {
  assertEquals(nameToShow("  Claude\u200b \u202eedoC\r\nx "), "Claude edoC x");
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 80 }), (text) => {
      const name = nameToShow(text);
      assert([...name].length <= 60);
      assert(!/[\p{C}\p{Zl}\p{Zp}\p{DI}]/u.test(name), JSON.stringify(name));
    }),
  );
});

const DAY = 86_400_000;
const grantAt = (number: number, rotatedAt: readonly number[]): Grant => ({
  id: "g",
  by: { principal: "key:ann" },
  office: "home",
  resource: "/mcp/home",
  client: { id: "c", name: "C" },
  computers: { except: [] },
  createdAt: 0,
  expiresAt: 180 * DAY,
  number,
  rotatedAt,
});

Deno.test("decideRefresh() gives a number its one successor, for two minutes", () => {
  const grant = grantAt(3, [300_000, 200_000, 100_000]);
  const next = decideRefresh(grant, 3, 310_000);
  assertEquals(next, {
    kind: "next",
    grant: {
      ...grant,
      number: 4,
      rotatedAt: [310_000, 300_000, 200_000, 100_000],
    },
  });
  assertEquals(decideRefresh(grant, 2, 420_000), { kind: "again", number: 3 });
  assertEquals(decideRefresh(grant, 2, 420_001), { kind: "reused" });
  assertEquals(decideRefresh(grant, 1, 300_000), { kind: "again", number: 2 });
  assertEquals(decideRefresh(grant, 0, 300_000), { kind: "reused" });
  assertEquals(decideRefresh(grant, 4, 300_000), { kind: "reused" });
});

Deno.test("endOf() ends a grant 30 days after its last renewal, and never later than it expires", () => {
  assertEquals(endOf(grantAt(0, [])), 30 * DAY);
  assertEquals(endOf(grantAt(1, [10 * DAY])), 40 * DAY);
  assertEquals(endOf(grantAt(9, [170 * DAY])), 180 * DAY);
});

Deno.test("readChoice() has later Computers only where that is ticked", () => {
  const shown = ["desk", "laptop"];
  assertEquals(readChoice(shown, ["0"], false), { only: ["desk"] });
  assertEquals(readChoice(shown, ["0"], true), { except: ["laptop"] });
  assertEquals(readChoice(shown, ["0", "1"], true), { except: [] });
  assertEquals(readChoice(shown, [], false), undefined);
  assertEquals(readChoice(shown, ["7", "x", "desk"], false), undefined);
  assertEquals(readChoice(undefined, [], false), { except: [] });
  const lists = fc.uniqueArray(fc.string(), { maxLength: 6 });
  const ticks = fc.array(fc.nat(8).map(String));
  fc.assert(fc.property(lists, ticks, fc.boolean(), (list, ticked, later) => {
    const choice = readChoice(list, ticked, later) ?? { only: [] };
    for (const [at, name] of list.entries()) {
      assertEquals(isChosen(choice, name), ticked.includes(String(at)));
    }
    const isNew = !list.includes("later one");
    if (isNew) assertEquals(isChosen(choice, "later one"), later);
  }));
});

Deno.test("Seals open what they sealed, for its purpose, and no altered text", async () => {
  const seals = await Seals.of(new Uint8Array(32));
  const claims = { grant: "g", number: 2 };
  const sealed = await seals.seal("refresh", claims);
  assert(isSeal(sealed));
  assertEquals(await seals.open("refresh", sealed), claims);
  assertEquals(await seals.open("access", sealed), undefined);
  const renamed = sealed.replace("smcp_rt_", "smcp_at_");
  assertEquals(await seals.open("access", renamed), undefined);
  const other = await Seals.of(new Uint8Array(32).fill(1));
  assertEquals(await other.open("refresh", sealed), undefined);
  const places = fc.nat(sealed.length - 2);
  const property = fc.asyncProperty(
    places,
    fc.constantFrom(..."aB3_"),
    async (at, to) => {
      const altered = sealed.slice(0, at) + to + sealed.slice(at + 1);
      if (altered === sealed) return;
      assertEquals(await seals.open("refresh", altered), undefined);
    },
  );
  await fc.assert(property);
});

Deno.test("Tries count by address and kind; IPv6 by network", () => {
  const tries = new SignInTries();
  for (let i = 0; i < 10; i++) tries.count("key", "2001:db8::1");
  assert(tries.isExceeded("key", "2001:db8::2"));
  assert(!tries.isExceeded("key", "2001:db8:1::2"));
  assert(!tries.isExceeded("token", "2001:db8::1"));
});
