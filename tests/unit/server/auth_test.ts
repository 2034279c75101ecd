import { SignJWT } from "jose";
import {
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { createHash, generateKeyPairSync } from "node:crypto";
import { apiKeys, parseApiKeys } from "../../../server/auth/api_keys.ts";
import { anyOf, type Credentials } from "../../../server/auth/authenticator.ts";
import { jwt, type JwtOptions, readClaims } from "../../../server/auth/jwt.ts";
import type { Identity } from "../../../server/shared/identity.ts";

const shown = (over: Partial<Credentials>): Credentials => ({
  headers: {},
  auth: {},
  address: "127.0.0.1",
  ...over,
});

const sha256 = (text: string) =>
  `sha256:${createHash("sha256").update(text).digest("hex")}`;

Deno.test("apiKeys() accepts plain and hashed keys, in the header and in auth (protocol §10)", async () => {
  const keys = apiKeys([
    { id: "ci", key: "plain-key", offices: ["team-*"] },
    { id: "lab", key: sha256("hashed-key") },
  ]);
  const ci: Identity = { principal: "key:ci", policy: { offices: ["team-*"] } };
  const lab: Identity = { principal: "key:lab", policy: {} };
  const unknown = { refused: "unknown API key" };
  const none = { refused: "no API key" };
  const header = (key: string) => ({ headers: { "x-api-key": key } });
  const auth = (auth: Record<string, unknown>) => ({ auth });
  const table: [Partial<Credentials>, unknown][] = [
    [header("plain-key"), ci],
    [auth({ api_key: "plain-key" }), ci],
    [auth({ token: "plain-key" }), ci],
    [auth({ token: "hashed-key", api_key: "" }), lab],
    [auth({ token: "hashed-key", api_key: "plain-key" }), ci],
    [auth({ token: "plain-key", api_key: "wrong" }), unknown],
    [auth({ token: ["plain-key"] }), none],
    [header("hashed-key"), lab],
    [header("wrong"), unknown],
    [header("plain-keY"), unknown],
    // The hash of a key is not accepted as a key.
    [auth({ api_key: sha256("hashed-key") }), unknown],
    [{ ...header("wrong"), ...auth({ api_key: "plain-key" }) }, unknown],
    [{}, none],
    [header(""), none],
    [auth({ api_key: 5 }), none],
    [auth({ api_key: ["plain-key"] }), none],
  ];
  for (const [credentials, verdict] of table) {
    assertEquals(
      await keys.authenticate(shown(credentials)),
      verdict,
      JSON.stringify(credentials),
    );
  }
});

Deno.test("apiKeys() takes the restrictions of a key, also from a prototype, and nothing else", async () => {
  class Row {
    id = "ci";
    key = "k";
    note = "of the lab";
    get offices() {
      return ["north"];
    }
  }
  const credentials = shown({ auth: { api_key: "k" } });
  assertEquals(
    await apiKeys([new Row()]).authenticate(credentials),
    { principal: "key:ci", policy: { offices: ["north"] } },
  );
});

Deno.test("apiKeys() refuses a misspelled restriction, which would not apply", () => {
  for (const [name, meant] of [["ofices", "offices"], ["role", "roles"]]) {
    const key = { id: "ci", key: "k", [`${name}`]: ["north"] };
    assertThrows(
      () => apiKeys([key]),
      TypeError,
      `Cannot use the API key "ci": ${name}: unknown field; did you mean "${meant}"?`,
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
  const all = { roles: ["agent" as const], offices: ["a"], names: ["b*"] };
  const keys = [{ id: "ci", key: "k", ...all }];
  assertEquals(parseApiKeys(JSON.stringify(keys)), keys);
  assertEquals(parseApiKeys("[]"), []);
  const secret = "hunter2-hunter2";
  const lab = (over: object) =>
    JSON.stringify([{ id: "lab", key: secret, ...over }]);
  const rows: [text: string, says: string][] = [
    [secret, ""],
    [`"${secret}"`, ""],
    ["{}", ""],
    [lab({ office: ["x"] }), 'the key "lab": office: '],
    [lab({ key: [secret] }), 'the key "lab": key: '],
    [
      lab({ role: ["agent"] }),
      'the key "lab": role: unknown field; did you mean "roles"?',
    ],
    [
      lab({ until: "2027" }),
      'the key "lab": until: unknown field; remove it, or use one of id, key, roles, offices, names, expires',
    ],
    [lab({ roles: ["admin"] }), 'the key "lab": roles.0: '],
    [
      JSON.stringify([...keys, { key: secret }]),
      "the key at position 2: id: ",
    ],
    [
      lab({ expires: "tomorrow" }),
      'the key "lab": expires: Invalid input: expected a time such as "2027-01-31T00:00:00Z"',
    ],
    ['{"lab": "k"}', 'write it as [{"id": "ci", "key": "…"}]'],
    ['[{"id": "a",\n "key" "k"}]', "not JSON (line 2 column 8)"],
  ];
  for (const [text, says] of rows) {
    const { message } = assertThrows(() => parseApiKeys(text), TypeError, says);
    assertStringIncludes(message, "Cannot read the API keys: ");
    assertEquals(message.includes("hunter2"), false, message);
  }
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

Deno.test("apiKeys() keeps the identity of a key at a recheck, unless another holder has the key now", async () => {
  const [own, other] = ["ci", "lab"].map((id) => apiKeys([{ id, key: "k" }]));
  const identity = await own!.authenticate(shown({ auth: { api_key: "k" } }));
  const refresh = (keys: typeof own) => keys?.refresh?.(identity as Identity);
  const gone = { refused: "the API key was removed" };
  assertEquals([refresh(own), refresh(other)], [identity as Identity, gone]);
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
    ["office_id", { ...base, office_id: "\ud800*" }],
    ["name", { ...base, name: ["x", "\udfff"] }],
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

Deno.test("jwt() accepts tokens in the header and in auth, and restricts by claims (protocol §10)", async () => {
  const authenticator = jwt({ key: { secret: SECRET } });
  const token = await sign(KEY, "HS256", { role: "agent" });
  const rows: [Partial<Credentials>, isRead: boolean][] = [
    [{ headers: { authorization: `Bearer ${token}` } }, true],
    [{ headers: { authorization: `bearer ${token}` } }, true],
    [{ auth: { token } }, true],
    [{}, false],
    [{ auth: { token: 5 } }, false],
    [{ headers: { authorization: `Basic ${token}` } }, false],
  ];
  for (const [credentials, isRead] of rows) {
    const verdict = await authenticator.authenticate(shown(credentials));
    if (!isRead) assertEquals(verdict, { refused: "no token" });
    else {assertEquals("policy" in verdict && verdict.policy, {
        roles: ["agent"],
      });}
  }
});

Deno.test("jwt() refuses expired and forged tokens, and those of another issuer or algorithm, and names the claim (protocol §10)", async () => {
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
  const signed = (over: object, expires?: number) =>
    sign(KEY, "HS256", { ...claims, ...over }, expires);
  const ALGORITHM = "its algorithm is not accepted";
  const SIGNATURE = "its signature is wrong";
  const wrong = signature.split("").reverse().join("");
  const bad: [string, string][] = [
    ["claim exp is past", await signed({}, now - 60)],
    [SIGNATURE, await sign(other, "HS256", claims)],
    [ALGORITHM, await sign(KEY, "HS384", claims)],
    [
      "claim iss is not the issuer that this server requires",
      await signed({ iss: "https://other.example" }),
    ],
    [
      "claim aud is not the audience that this server requires",
      await signed({ aud: "other" }),
    ],
    ["claim nbf is in the future", await signed({ nbf: now + 600 })],
    ["claim iss is missing", await sign(KEY, "HS256")],
    [
      "claim exp is missing",
      await new SignJWT({ sub: "ada", ...claims })
        .setProtectedHeader({ alg: "HS256" }).sign(KEY),
    ],
    [
      'claim role is not "agent", "computer" or "operator", or a list of them',
      await signed({ role: "root-of-hunter2" }),
    ],
    [ALGORITHM, `${unsigned}.${body}.`],
    [SIGNATURE, `${head}.${body}.${wrong}`],
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
    const texts = [pem, JSON.stringify(jwk), JSON.stringify({ keys: [jwk] })];
    for (const text of texts) {
      const key = { publicKey: text };
      assertEquals(await principalOf({ key }, token), "jwt:ada", alg);
      // The public key must not be usable as an HMAC secret.
      const forged = await sign(new TextEncoder().encode(text), "HS256");
      const algorithms = [alg === "RS256" ? "PS256" : "RS256"];
      assertEquals(
        [
          await principalOf({ key }, forged),
          await principalOf({ key, algorithms }, token),
        ],
        Array(2).fill(
          "token refused: its algorithm is not accepted (ERR_JOSE_ALG_NOT_ALLOWED)",
        ),
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
  const pairs = [
    generateKeyPairSync("ed25519"),
    generateKeyPairSync("ec", { namedCurve: "P-256" }),
    generateKeyPairSync("rsa", { modulusLength: 2048 }),
  ];
  for (const { privateKey } of pairs) {
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

Deno.test("anyOf() refuses what is no authenticator, which would fail for each client", () => {
  for (const other of [undefined, {}, { authenticat: () => {} }]) {
    const list = [apiKeys([]), other] as never;
    assertThrows(() => anyOf(list), TypeError, "function authenticate");
  }
});

Deno.test("anyOf() admits a client that any authenticator admits, and otherwise combines the reasons", async () => {
  const both = anyOf([
    apiKeys([{ id: "ci", key: "k" }]),
    jwt({ key: { secret: SECRET } }),
  ]);
  const token = await sign(KEY, "HS256");
  const rows: [auth: Record<string, unknown>, verdict: string][] = [
    [{ api_key: "k" }, "key:ci"],
    [{ token: "k" }, "key:ci"],
    [{ token }, "jwt:ada"],
    [{ token, api_key: "k" }, "key:ci"],
    [{ token, api_key: "wrong" }, "jwt:ada"],
    [{ api_key: "wrong" }, "unknown API key, no token"],
  ];
  for (const [auth, expected] of rows) {
    const verdict = await both.authenticate(shown({ auth }));
    assertEquals(
      "principal" in verdict ? verdict.principal : verdict.refused,
      expected,
    );
  }
});
