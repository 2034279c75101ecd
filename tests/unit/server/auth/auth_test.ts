import {
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { createHash, generateKeyPairSync } from "node:crypto";
import { SignJWT } from "jose";
import { apiKeys, parseApiKeys } from "../../../../server/auth/api_keys.ts";
import type { Identity } from "../../../../server/shared/identity.ts";
import {
  anyOf,
  type Credentials,
} from "../../../../server/auth/authenticator.ts";
import {
  jwt,
  type JwtOptions,
  readClaims,
} from "../../../../server/auth/jwt.ts";

const shown = (over: Partial<Credentials>): Credentials => ({
  headers: {},
  auth: {},
  address: "127.0.0.1",
  ...over,
});

const sha256 = (text: string) =>
  `sha256:${createHash("sha256").update(text).digest("hex")}`;

Deno.test("apiKeys() accepts plain and hashed keys, in the header and in auth (spec §10)", async () => {
  const keys = apiKeys([
    { id: "ci", key: "plain-key", offices: ["team-*"] },
    { id: "lab", key: sha256("hashed-key") },
  ]);
  const ci: Identity = { principal: "key:ci", policy: { offices: ["team-*"] } };
  const lab: Identity = { principal: "key:lab", policy: {} };
  const unknown = { refused: "unknown API key" };
  const none = { refused: "no API key" };
  const table: [Partial<Credentials>, unknown][] = [
    [{ headers: { "x-api-key": "plain-key" } }, ci],
    [{ auth: { api_key: "plain-key" } }, ci],
    [{ auth: { token: "plain-key" } }, ci],
    [{ auth: { token: "hashed-key", api_key: "" } }, lab],
    [{ auth: { token: "hashed-key", api_key: "plain-key" } }, ci],
    [{ auth: { token: "plain-key", api_key: "wrong" } }, unknown],
    [{ auth: { token: ["plain-key"] } }, none],
    [{ headers: { "x-api-key": "hashed-key" } }, lab],
    [{ auth: { api_key: "hashed-key" } }, lab],
    [{ headers: { "x-api-key": "wrong" } }, unknown],
    [{ headers: { "x-api-key": "plain-keY" } }, unknown],
    // The hash of a key is not accepted as a key.
    [{ auth: { api_key: sha256("hashed-key") } }, unknown],
    [
      { headers: { "x-api-key": "wrong" }, auth: { api_key: "plain-key" } },
      unknown,
    ],
    [{}, none],
    [{ headers: { "x-api-key": "" } }, none],
    [{ auth: { api_key: 5 } }, none],
    [{ auth: { api_key: ["plain-key"] } }, none],
  ];
  for (const [credentials, verdict] of table) {
    assertEquals(
      await keys.authenticate(shown(credentials)),
      verdict,
      JSON.stringify(credentials),
    );
  }
});

Deno.test("apiKeys() refuses invalid keys, without showing them", () => {
  const bad = ["", "sha256:", "sha256:abc", `sha256:${"g".repeat(64)}`];
  for (const key of bad) {
    const { message } = assertThrows(
      () => apiKeys([{ id: "ci", key }]),
      TypeError,
    );
    assertEquals(
      message,
      'Cannot use the API key "ci": expected the key, or "sha256:" and 64 hexadecimal digits',
    );
  }
  assertThrows(
    () => apiKeys([{ id: "a", key: "x" }, { id: "a", key: "y" }]),
    TypeError,
    'two API keys with the id "a"',
  );
});

Deno.test("parseApiKeys() parses a list, and refuses misspelled restrictions", () => {
  const keys = [{
    id: "ci",
    key: "k",
    roles: ["agent" as const],
    offices: ["a"],
    names: ["b*"],
  }];
  assertEquals(parseApiKeys(JSON.stringify(keys)), keys);
  const secret = "hunter2-hunter2";
  const bad = [
    secret,
    `"${secret}"`,
    "[]",
    "{}",
    JSON.stringify([{ id: "a", key: secret, office: ["x"] }]),
    JSON.stringify([{ id: "a", key: secret, roles: ["admin"] }]),
    JSON.stringify([{ id: "a", key: [secret] }]),
    JSON.stringify([{ key: secret }]),
  ];
  for (const text of bad) {
    const { message } = assertThrows(
      () => parseApiKeys(text),
      TypeError,
      "Cannot read the API keys: ",
    );
    assertEquals(message.includes("hunter2"), false, message);
  }
});

Deno.test("parseApiKeys() names the key by its id, or else by its position, and what is wrong with it", () => {
  const faults: [list: unknown, says: string][] = [
    [
      [{ id: "lab", key: "k", role: ["agent"] }],
      'the key "lab": role: unknown field; did you mean "roles"?',
    ],
    [
      [{ id: "lab", key: "k", until: "2027" }],
      'the key "lab": until: unknown field; remove it, or use one of id, key, roles, offices, names, expires',
    ],
    [[{ id: "lab", key: "k", roles: ["admin"] }], 'the key "lab": roles.0: '],
    [[{ id: "a", key: "k" }, { key: "k" }], "the key at position 2: id: "],
    [
      [{ id: "lab", key: "k", expires: "tomorrow" }],
      'the key "lab": expires: Invalid input: expected a time such as "2027-01-31T00:00:00Z"',
    ],
    [{ lab: "k" }, 'write it as [{"id": "ci", "key": "…"}]'],
  ];
  for (const [list, says] of faults) {
    assertThrows(() => parseApiKeys(JSON.stringify(list)), TypeError, says);
  }
  assertThrows(
    () => parseApiKeys('[{"id": "a",\n "key" "k"}]'),
    TypeError,
    "not JSON (line 2 column 8)",
  );
});

Deno.test("apiKeys() refuses a key that expired and says so; one that expires later has that as its end", () => {
  const auth = { api_key: "k" };
  const judge = (expires?: string) => {
    const entry = { id: "ci", key: "k", ...(expires && { expires }) };
    return apiKeys([entry]).authenticate({ headers: {}, auth, address: "" });
  };
  const shown = "the API key expired at 2020-01-31T00:00:00.000Z";
  for (const past of ["2020-01-31T00:00:00Z", "2020-01-31T02:00+02:00"]) {
    assertEquals(judge(past), { refused: shown, shown });
  }
  const expiresAt = Date.UTC(2999, 0, 31);
  assertEquals(judge("2999-01-31T00:00:00Z"), {
    principal: "key:ci",
    policy: {},
    expiresAt,
  });
  assertEquals(judge(), { principal: "key:ci", policy: {} });
  for (const wrong of ["2999", "2999-01-31", "2999-01-31T00:00:00", "never"]) {
    assertThrows(
      () => judge(wrong),
      TypeError,
      `Cannot use the API key "ci": expires is "${wrong}", expected a time such as "2027-01-31T00:00:00Z"`,
    );
  }
});

Deno.test("readClaims() converts role, office_id and name to a policy, and refuses invalid claims", () => {
  const base = { sub: "ada", exp: 60 };
  const identity = { principal: "jwt:ada", expiresAt: 65_000 };
  assertEquals(readClaims(base), { ...identity, policy: {} });
  assertEquals(
    readClaims({ ...base, role: "agent", office_id: "a*", name: ["x", "y"] }),
    {
      ...identity,
      policy: { roles: ["agent"], offices: ["a*"], names: ["x", "y"] },
    },
  );
  const bad: [string, Record<string, unknown>][] = [
    ["sub", { exp: 60 }],
    ["sub", { ...base, sub: "" }],
    ["exp", { sub: "ada" }],
    ["role", { ...base, role: "admin" }],
    ["role", { ...base, role: ["agent", "admin"] }],
    ["role", { ...base, role: null }],
    ["office_id", { ...base, office_id: 5 }],
    ["office_id", { ...base, office_id: { "*": true } }],
    ["name", { ...base, name: ["x", null] }],
  ];
  for (const [claim, claims] of bad) {
    const verdict = readClaims(claims);
    const reason = "refused" in verdict ? verdict.refused : "";
    assertStringIncludes(reason, `token refused: claim ${claim} is not `);
  }
});

const SECRET = "0123456789abcdef0123456789abcdef";
const KEY = new TextEncoder().encode(SECRET);

type SignKey = Parameters<SignJWT["sign"]>[0];

const sign = (
  key: SignKey,
  alg: string,
  claims: Record<string, unknown> = {},
  expires: string | number = "1h",
) =>
  new SignJWT({ sub: "ada", ...claims }).setProtectedHeader({ alg })
    .setExpirationTime(expires).sign(key);

const ask = async (options: JwtOptions, token: string) =>
  await jwt(options).authenticate(shown({ auth: { token } }));

const principalOf = async (options: JwtOptions, token: string) => {
  const verdict = await ask(options, token);
  return "principal" in verdict ? verdict.principal : verdict.refused;
};

Deno.test("jwt() accepts tokens in the header and in auth, and restricts by claims (spec §10)", async () => {
  const authenticator = jwt({ key: { secret: SECRET } });
  const token = await sign(KEY, "HS256", { role: "agent" });
  const ways: Partial<Credentials>[] = [
    { headers: { authorization: `Bearer ${token}` } },
    { headers: { authorization: `bearer ${token}` } },
    { auth: { token } },
  ];
  for (const credentials of ways) {
    const verdict = await authenticator.authenticate(shown(credentials));
    assertEquals("policy" in verdict && verdict.policy, { roles: ["agent"] });
  }
  const none: Partial<Credentials>[] = [
    {},
    { auth: { token: 5 } },
    { headers: { authorization: `Basic ${token}` } },
  ];
  for (const credentials of none) {
    assertEquals(await authenticator.authenticate(shown(credentials)), {
      refused: "no token",
    });
  }
});

Deno.test("jwt() refuses expired and forged tokens, and those of another issuer or algorithm, and names the claim (spec §10)", async () => {
  const options = {
    key: { secret: SECRET },
    issuer: "https://issuer.example",
    audience: "smcp",
  };
  const claims = { iss: options.issuer, aud: "smcp" };
  const good = await sign(KEY, "HS256", claims);
  assertEquals(await principalOf(options, good), "jwt:ada");
  const now = Math.floor(Date.now() / 1000);
  const [head, body, signature = ""] = good.split(".");
  const unsigned = btoa('{"alg":"none"}').replace(/=+$/, "");
  const other = new TextEncoder().encode(SECRET.toUpperCase());
  const bad: [string, string][] = [
    ["claim exp is past", await sign(KEY, "HS256", claims, now - 60)],
    ["its signature is wrong", await sign(other, "HS256", claims)],
    ["its algorithm is not accepted", await sign(KEY, "HS384", claims)],
    [
      "claim iss is not the issuer that this server requires",
      await sign(KEY, "HS256", { ...claims, iss: "https://other.example" }),
    ],
    [
      "claim aud is not the audience that this server requires",
      await sign(KEY, "HS256", { ...claims, aud: "other" }),
    ],
    [
      "claim nbf is in the future",
      await sign(KEY, "HS256", { ...claims, nbf: now + 600 }),
    ],
    ["claim iss is missing", await sign(KEY, "HS256")],
    [
      "claim exp is missing",
      await new SignJWT({ sub: "ada", ...claims })
        .setProtectedHeader({ alg: "HS256" }).sign(KEY),
    ],
    [
      'claim role is not "agent", "computer" or "operator", or a list of them',
      await sign(KEY, "HS256", { ...claims, role: "root-of-hunter2" }),
    ],
    ["its algorithm is not accepted", `${unsigned}.${body}.`],
    [
      "its signature is wrong",
      `${head}.${body}.${signature.split("").reverse().join("")}`,
    ],
    ["it is not a JWT", "not-a-token"],
    ["it is not a JWT", ".."],
  ];
  for (const [why, token] of bad) {
    const verdict = await ask(options, token);
    const reason = "refused" in verdict ? verdict.refused : "";
    assertStringIncludes(reason, `token refused: ${why}`);
    assertEquals(reason.includes(token) || reason.includes("hunter2"), false);
  }
});

Deno.test("jwt() verifies with public keys as PEM, JWK and JWK set, only with their own algorithms", async () => {
  const kinds = [
    ["RS256", generateKeyPairSync("rsa", { modulusLength: 2048 })],
    ["ES256", generateKeyPairSync("ec", { namedCurve: "P-256" })],
    ["EdDSA", generateKeyPairSync("ed25519")],
  ] as const;
  for (const [alg, { publicKey, privateKey }] of kinds) {
    const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
    const jwk = publicKey.export({ format: "jwk" });
    const token = await sign(privateKey, alg);
    for (
      const text of [pem, JSON.stringify(jwk), JSON.stringify({ keys: [jwk] })]
    ) {
      const key = { publicKey: text };
      assertEquals(await principalOf({ key }, token), "jwt:ada", alg);
      // The public key must not be usable as an HMAC secret.
      const forged = await sign(new TextEncoder().encode(text), "HS256");
      assertEquals(
        await principalOf({ key }, forged),
        "token refused: its algorithm is not accepted (ERR_JOSE_ALG_NOT_ALLOWED)",
      );
      const algorithms = [alg === "RS256" ? "PS256" : "RS256"];
      assertEquals(
        await principalOf({ key, algorithms }, token),
        "token refused: its algorithm is not accepted (ERR_JOSE_ALG_NOT_ALLOWED)",
      );
    }
  }
});

Deno.test("jwt() fetches a JWK set, and fails without a verdict if the issuer is unreachable", async () => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
  });
  const body = { keys: [publicKey.export({ format: "jwk" })] };
  const issuer = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    ({ url }) =>
      new URL(url).pathname === "/keys"
        ? Response.json(body)
        : new Response("down", { status: 500 }),
  );
  const base = `http://127.0.0.1:${issuer.addr.port}`;
  const token = await sign(privateKey, "ES256");
  const key = { jwksUrl: `${base}/keys` };
  assertEquals(await principalOf({ key }, token), "jwt:ada");
  await assertRejects(() => ask({ key: { jwksUrl: `${base}/down` } }, token));
  await issuer.shutdown();
  await assertRejects(() => ask({ key }, token));
});

Deno.test("jwt() refuses invalid options, without showing the key", () => {
  const { privateKey } = generateKeyPairSync("ed25519");
  const jwk = JSON.stringify(privateKey.export({ format: "jwk" }));
  const bad: JwtOptions[] = [
    { key: { secret: "short" } },
    { key: { secret: SECRET }, algorithms: ["RS256"] },
    { key: { secret: SECRET }, algorithms: ["HS256", "none"] },
    { key: { secret: SECRET }, issuer: "" },
    { key: { secret: SECRET }, audience: "" },
    { key: { publicKey: "hunter2" } },
    { key: { publicKey: '{"keys": 5}' } },
    { key: { publicKey: '{"kty": "oct", "k": "hunter2"}' } },
    { key: { publicKey: jwk } },
    { key: { jwksUrl: "hunter2" } },
    { key: { jwksUrl: "https://issuer.example" }, algorithms: ["HS256"] },
  ];
  for (const options of bad) {
    const { message } = assertThrows(() => jwt(options), TypeError, "Cannot ");
    assertEquals(/hunter2|short|"d"/.test(message), false, message);
  }
});

Deno.test("jwt() refuses a private key in every form, explains that, and shows nothing of it", () => {
  for (const type of ["ed25519", "ec", "rsa"] as const) {
    const { privateKey } = type === "ec"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : type === "rsa"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 })
      : generateKeyPairSync("ed25519");
    const jwk = privateKey.export({ format: "jwk" });
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const forms = [
      pem,
      `a comment\n${pem}`,
      pem.replaceAll("PRIVATE", "ENCRYPTED PRIVATE"),
      JSON.stringify(jwk),
      JSON.stringify({ keys: [jwk] }),
    ];
    for (const publicKey of forms) {
      const { message } = assertThrows(
        () => jwt({ key: { publicKey } }),
        TypeError,
        "Cannot verify JWTs with a private key",
      );
      assertStringIncludes(message, "public half");
      assertEquals(message.includes(String(jwk.d)), false);
    }
  }
});

Deno.test("anyOf() admits a client that any authenticator admits, and otherwise combines the reasons", async () => {
  const both = anyOf([
    apiKeys([{ id: "ci", key: "k" }]),
    jwt({ key: { secret: SECRET } }),
  ]);
  const token = await sign(KEY, "HS256");
  for (const auth of [{ api_key: "k" }, { token }]) {
    const verdict = await both.authenticate(shown({ auth }));
    assertEquals("principal" in verdict, true);
  }
  assertEquals(await both.authenticate(shown({ auth: { api_key: "x" } })), {
    refused: "unknown API key, no token",
  });
});
