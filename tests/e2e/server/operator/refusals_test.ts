import { assert, assertEquals } from "@std/assert";
import { SignJWT } from "jose";
import {
  anyOf,
  type ApiKey,
  apiKeys,
  createSmcpServer,
  jwt,
} from "../../../../server/mod.ts";
import { captureLog } from "../../../support/log_capture.ts";
import { signedIn, usedGrant } from "../../../support/server/grants.ts";
import {
  operate,
  operated,
  TOKEN,
} from "../../../support/server/operator_client.ts";
import { rawHttp } from "../../../support/wire/raw_http.ts";

const SECRET = "a secret of at least 32 characters";

const operator = "operator" as const;
const KEYS: readonly ApiKey[] = [
  { id: "all", key: "key-of-all-offices", roles: [operator] },
  { id: "south", key: "key-of-south", roles: [operator], offices: ["south*"] },
  { id: "lab", key: "key-of-lab" },
  { id: "agent", key: "key-of-agent", roles: ["agent", "computer"] },
];
const LAB = { auth: { api_key: "key-of-lab" } };

const signed = (claims: Record<string, unknown>) =>
  new SignJWT({ sub: "ada", ...claims }).setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("1h").sign(new TextEncoder().encode(SECRET));

/** A server with a Computer "pc" in "north". */
async function served() {
  const office = await operated({
    ...await signedIn([usedGrant({ office: "north" })]),
    origins: "*",
    authenticator: anyOf([apiKeys(KEYS), jwt({ key: { secret: SECRET } })]),
  });
  const computer = await office.join("computer", "pc", LAB);
  return { ...office, computer };
}

const reason = "because";

/** Every operation, each with what it takes. */
const operations = (office: string, id = "none") => {
  const pc = `/offices/${office}/computers/pc`;
  const table: [path: string, post?: unknown][] = [
    [`/offices/${office}/members`],
    [`/offices/${office}/calls`],
    [`${pc}/tools`],
    [`${pc}/config`],
    [`${pc}/desktop`],
    [`${pc}/call`, { tool_name: "delete_all" }],
    [`/offices/${office}/calls/cancel`, { req_id: "r", reason }],
    [`/members/${id}/kick`, { reason }],
  ];
  return table;
};
const REVOKE = ["/keys/revoke", { principal: "key:lab", reason }] as const;
const END = ["/grants/end", { office: "north", reason }] as const;

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const own = bearer(TOKEN);

/** Headers that are refused: the status, and the field that is named. */
const refusals = async (): Promise<
  [headers: Record<string, string>, status: number, field: string][]
> => [
  [{}, 401, "Authorization"],
  [bearer("x".repeat(32)), 401, "Authorization"],
  [bearer(TOKEN.slice(0, 16)), 401, "Authorization"],
  [{ Authorization: `Basic ${TOKEN}` }, 401, "Authorization"],
  [{ Cookie: `token=${TOKEN}` }, 401, "Authorization"],
  [{ "x-api-key": "key-of-all-offices" }, 401, "Authorization"],
  [bearer("key-of-lab"), 403, "Authorization"],
  [bearer("key-of-agent"), 403, "Authorization"],
  [bearer(await signed({ role: "agent" })), 403, "Authorization"],
  [bearer(await signed({})), 403, "Authorization"],
  [{ ...own, Origin: "https://evil.example" }, 403, "Origin"],
  [{ ...own, Origin: "http://127.0.0.1:1" }, 403, "Origin"],
  [{ ...own, Origin: "null" }, 403, "Origin"],
  [{ ...own, "Sec-Fetch-Site": "cross-site" }, 403, "Origin"],
  [{ ...own, "Sec-Fetch-Site": "same-site" }, 403, "Origin"],
];

Deno.test("every operation refuses clients that are no operator, other pages, and forms", async () => {
  using log = captureLog();
  await using office = await served();
  const { url, computer } = office;
  const all = [
    ...[["/status"], ["/offices"], ["/calls"], ["/grants"]] as const,
    ...[["/openapi.json"], ["/events"], ["/unknown"]] as const,
    ...operations("north", computer.socket.id),
    ...[REVOKE, END],
  ];
  const table = await refusals();
  for (const [headers, status, field] of table) {
    for (const [path, post] of all) {
      const answer = await operate(url, path, { post, headers });
      assertEquals(
        [answer.status, answer.type, answer.body.errors[0].field],
        [status, "application/problem+json", field],
        `${JSON.stringify(headers)}: ${path}`,
      );
    }
  }
  const form = "application/x-www-form-urlencoded";
  for (const type of [form, "text/plain", "multipart/form-data"]) {
    for (const [path, post] of all.filter(([, post]) => post)) {
      const headers = { ...own, "Content-Type": type };
      const { status, body } = await operate(url, path, { post, headers });
      const named = [status, body.errors[0].field];
      assertEquals(named, [415, "Content-Type"], `${type}: ${path}`);
    }
  }
  assert(computer.socket.connected, "a refused change changed something");
  const tokens = table.flatMap(([{ Authorization = "" }]) =>
    Authorization.split(" ").slice(1)
  );
  for (const secret of [...tokens, ...KEYS.map(({ key }) => key)]) {
    assert(!log.text.includes(secret));
  }
  const changes =
    /^(member_kicked|key_revoked|grant_ended|call_cancelled|operator_asked)$/;
  const changed = log.audit.filter(({ event }) => changes.test(`${event}`));
  assertEquals(changed, []);
});

Deno.test("a foreign Host is refused, even with the token; a page of the server's own may ask", async () => {
  await using office = await served();
  const { port } = new URL(office.url);
  for (const host of ["evil.example", `evil.example:${port}`]) {
    const { status, body } = await rawHttp(Number(port), [
      "GET /operator/v1/status HTTP/1.1",
      ...[`Host: ${host}`, `Authorization: Bearer ${TOKEN}`],
      "Connection: close",
    ]);
    assertEquals(status, 403);
    assert(body.includes("Host: unknown host name; use a name"), body);
  }
  const headers = { Origin: office.url, "Sec-Fetch-Site": "same-origin" };
  const options = { token: TOKEN, headers };
  assertEquals((await operate(office.url, "/status", options)).status, 200);
});

Deno.test("a page of the public URL may ask, though a tunnel names this machine", async () => {
  const publicUrl = "https://smcp.example.com:8443/team";
  await using office = await operated({ publicUrl });
  const statusOf = async (origin: string) => {
    const headers = { Origin: origin, "Sec-Fetch-Site": "same-origin" };
    const options = { token: TOKEN, headers };
    return (await operate(office.url, "/status", options)).status;
  };
  assertEquals(await statusOf("https://smcp.example.com:8443"), 200);
  assertEquals(await statusOf(office.url), 200);
  assertEquals(await statusOf("https://smcp.example.com"), 403);
  assertEquals(await statusOf("https://evil.example"), 403);
});

Deno.test("an operator of other offices sees and changes nothing of this one, nor that it exists", async () => {
  await using office = await served();
  const { url, computer } = office;
  const restricted = [
    "key-of-south",
    await signed({ role: "operator", office_id: "south" }),
  ];
  for (const token of restricted) {
    const send = async ([path, post]: readonly [string, unknown?]) => {
      const { status, body } = await operate(url, path, { token, post });
      return [status, body];
    };
    assertEquals(await send(["/offices"]), [200, { offices: [] }]);
    const [, { offices, members, process }] = await send(["/status"]);
    assertEquals([offices, members, process], [0, 0, undefined]);
    const there = await Promise.all(
      operations("north", computer.socket.id).map(send),
    );
    const nowhere = await Promise.all(operations("nowhere").map(send));
    assertEquals(there.map(([code]) => code), there.map(() => 404));
    const text = JSON.stringify(there).replaceAll("north", "nowhere");
    assertEquals(text, JSON.stringify(nowhere));
    const [revoked, problem] = await send(REVOKE);
    assertEquals([revoked, problem.errors[0].field], [403, "principal"]);
  }
  assert(computer.socket.connected);
  await computer.join("computer", "pc", "south-1");
  const { body } = await office.get("/offices", "key-of-south");
  assertEquals(body.offices.map((o: { office: string }) => o.office), [
    "south-1",
  ]);
});

Deno.test("without an operator there is no API and no console, as on any unknown path", async () => {
  const ops = { id: "ops", key: "ops" };
  for (
    const options of [
      {},
      { authenticator: apiKeys([{ id: "lab", key: "lab" }]) },
      {
        operator: false as const,
        authenticator: apiKeys([{ ...ops, roles: [operator] }]),
      },
    ]
  ) {
    await using server = createSmcpServer(options);
    const { url } = await server.listen();
    const ask = async (path: string) => {
      const response = await fetch(url + path, { headers: bearer("ops") });
      return [response.status, await response.text()];
    };
    const unknown = await ask("/unknown");
    assertEquals(unknown[0], 404);
    for (const path of ["/operator/v1/status", "/operator/v1/events"]) {
      assertEquals(await ask(path), unknown, path);
    }
    for (const path of ["/console", "/console/", "/console/server.js"]) {
      assertEquals(await ask(path), unknown, path);
    }
  }
});
