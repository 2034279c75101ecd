import { assertEquals } from "@std/assert";
import { allTestNames } from "../../support/test_names.ts";

/** The attacks on the sign-in; each is in the names of the tests that prove its refusal, as `sign-in #7: …`. */
const ATTACKS = [
  "a code used 20 times at once, also on two nodes",
  "a code replayed",
  "a stolen code, with a wrong verifier or none",
  "a code of another client, redirect or resource",
  "PKCE: plain, no method, no challenge, a short one",
  "mix-up of issuers",
  "a redirect altered in its spelling",
  "a registration with a dangerous redirect",
  "parameters twice, request objects, other response modes and types",
  "an open redirect by a registered website",
  "localhost in place of 127.0.0.1",
  "another program listens on the loopback port",
  "a token of one resource at another",
  "a token at Socket.IO, /metrics and the operator API",
  "a forged token, or one for another purpose",
  "ten refreshes at once",
  "an old refresh token after its grace",
  "a refresh by another client, or for another office",
  "a consent of another browser, site or text",
  "framing",
  "session fixation",
  "guessing keys",
  "a key for something else",
  "a flood of registrations, and large bodies",
  "addresses of this machine and its network for a document",
  "an answer of DNS that changes",
  "a document that redirects, is slow, huge, or not JSON",
  "a document that changes after the consent",
  "a name with markup and invisible characters",
  "another's name, and homographs",
  "a link to the page by mail",
  "a confused deputy",
  "a key that is removed, restricted, expired or revoked",
  "revocation with open streams and sessions",
  "forged Host and X-Forwarded headers",
  "http behind a proxy with TLS",
  "secrets in logs, Referer and history",
  "the timing of keys and codes",
  "many clients behind one address",
];

Deno.test("every attack on the sign-in has a test that names it, and no test names another", async () => {
  const named = (await allTestNames()).flatMap((name) =>
    [...name.matchAll(/\bsign-in #(\d+):/g)].map(([, row]) => Number(row))
  );
  const rows = [...new Set(named)].sort((a, b) => a - b);
  assertEquals(rows, ATTACKS.map((_, at) => at + 1));
});
