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
import { operate } from "../../../support/server/operator_client.ts";
import { joinRaw } from "../../../support/wire/raw_client.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const SECRET = "a secret of at least 32 characters";

const KEYS: readonly ApiKey[] = [
  { id: "all", key: "key-of-all-offices", roles: ["operator"] },
  {
    id: "south",
    key: "key-of-south",
    roles: ["operator"],
    offices: ["south*"],
  },
  { id: "lab", key: "key-of-lab" },
  { id: "agent", key: "key-of-agent", roles: ["agent", "computer"] },
];

const signed = (claims: Record<string, unknown>) =>
  new SignJWT({ sub: "ada", ...claims }).setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("1h").sign(new TextEncoder().encode(SECRET));

async function served() {
  const server = createSmcpServer({
    operator: { token: TOKEN },
    origins: "*",
    authenticator: anyOf([apiKeys(KEYS), jwt({ key: { secret: SECRET } })]),
  });
  const { url } = await server.listen();
  const computer = await joinRaw(
    { url, auth: { api_key: "key-of-lab" } },
    "computer",
    "pc",
    "north",
  );
  return {
    url,
    computer,
    async [Symbol.asyncDispose]() {
      await computer[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

/** Every operation, each with what it takes. */
const OPERATIONS: readonly [path: string, post?: unknown][] = [
  ["/status"],
  ["/offices"],
  ["/offices/north/members"],
  ["/offices/north/calls"],
  ["/openapi.json"],
  ["/events"],
  ["/unknown"],
  ["/offices/north/calls/cancel", { req_id: "r", reason: "because" }],
  ["/offices/north/computers/pc/tools"],
  ["/offices/north/computers/pc/config"],
  ["/offices/north/computers/pc/desktop"],
  ["/offices/north/computers/pc/call", { tool_name: "delete_all" }],
  ["/members/PC/kick", { reason: "because" }],
  ["/keys/revoke", { principal: "key:lab", reason: "because" }],
];

Deno.test("every operation refuses who is no operator, other pages, other hosts, and forms", async (t) => {
  using log = captureLog();
  await using office = await served();
  const { url, computer } = office;
  const wrongRole = await signed({ role: "agent" });
  const noRole = await signed({});
  const secrets = [TOKEN, wrongRole, noRole, ...KEYS.map(({ key }) => key)];
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
  const form = "application/x-www-form-urlencoded";
  /** The refusal, the headers, the status, and the field that is named. */
  const refusals: readonly [string, Record<string, string>, number, string][] =
    [
      ["no token", {}, 401, "Authorization"],
      ["an unknown token", bearer("x".repeat(32)), 401, "Authorization"],
      ["half of the token", bearer(TOKEN.slice(0, 16)), 401, "Authorization"],
      [
        "a token of basic",
        { Authorization: `Basic ${TOKEN}` },
        401,
        "Authorization",
      ],
      ["a cookie", { Cookie: `token=${TOKEN}` }, 401, "Authorization"],
      [
        "the header of API keys",
        { "x-api-key": "key-of-all-offices" },
        401,
        "Authorization",
      ],
      ["a key without roles", bearer("key-of-lab"), 403, "Authorization"],
      ["a key of other roles", bearer("key-of-agent"), 403, "Authorization"],
      ["a JWT of another role", bearer(wrongRole), 403, "Authorization"],
      ["a JWT without a role", bearer(noRole), 403, "Authorization"],
      [
        "another page",
        { ...bearer(TOKEN), Origin: "https://evil.example" },
        403,
        "Origin",
      ],
      [
        "another port's page",
        { ...bearer(TOKEN), Origin: "http://127.0.0.1:1" },
        403,
        "Origin",
      ],
      ["no page's origin", { ...bearer(TOKEN), Origin: "null" }, 403, "Origin"],
      [
        "another site's image",
        { ...bearer(TOKEN), "Sec-Fetch-Site": "cross-site" },
        403,
        "Origin",
      ],
      [
        "a sister site",
        { ...bearer(TOKEN), "Sec-Fetch-Site": "same-site" },
        403,
        "Origin",
      ],
    ];
  for (const [what, headers, status, field] of refusals) {
    await t.step(what, async () => {
      for (const [path, post] of OPERATIONS) {
        const answer = await operate(
          url,
          path.replace("PC", computer.socket.id ?? ""),
          { post, headers },
        );
        assertEquals(
          [answer.status, answer.type, answer.body.errors[0].field],
          [status, "application/problem+json", field],
          `${what}: ${path}`,
        );
      }
    });
  }
  for (const [path, post] of OPERATIONS.filter(([, post]) => post)) {
    for (const type of [form, "text/plain", "multipart/form-data"]) {
      const answer = await operate(
        url,
        path.replace("PC", computer.socket.id ?? ""),
        {
          token: TOKEN,
          post,
          headers: { "Content-Type": type },
        },
      );
      assertEquals([answer.status, answer.body.errors[0].field], [
        415,
        "Content-Type",
      ]);
    }
  }
  assert(computer.socket.connected, "a refused change changed something");
  for (const secret of secrets) assert(!log.text.includes(secret));
  assertEquals(
    log.audit.filter(({ event }) =>
      ["member_kicked", "key_revoked", "call_cancelled"].includes(
        String(event),
      )
    ),
    [],
  );
});

Deno.test("a foreign Host is refused, even with the token", async () => {
  await using office = await served();
  const { hostname, port } = new URL(office.url);
  for (const host of ["evil.example", `evil.example:${port}`]) {
    await using socket = await Deno.connect({ hostname, port: Number(port) })
      .then((conn) => ({
        conn,
        [Symbol.asyncDispose]: async () => {
          await Promise.resolve();
          conn.close();
        },
      }));
    await socket.conn.write(new TextEncoder().encode(
      `GET /operator/v1/status HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`,
    ));
    const answer = new Uint8Array(4096);
    const size = await socket.conn.read(answer) ?? 0;
    const text = new TextDecoder().decode(answer.subarray(0, size));
    assertEquals(text.split(" ")[1], "403");
    assert(text.includes("Host"));
  }
});

Deno.test("a page of the server's own may ask", async () => {
  await using office = await served();
  const { url } = office;
  const answer = await operate(url, "/status", {
    token: TOKEN,
    headers: { Origin: url, "Sec-Fetch-Site": "same-origin" },
  });
  assertEquals(answer.status, 200);
});

Deno.test("an operator of other offices sees and changes nothing of this one, and does not learn of it", async () => {
  await using office = await served();
  const { url, computer } = office;
  for (
    const token of [
      "key-of-south",
      await signed({ role: "operator", office_id: "south" }),
    ]
  ) {
    const get = async (path: string, post?: unknown) => {
      const { status, body } = await operate(url, path, { token, post });
      return [status, body];
    };
    assertEquals(await get("/offices"), [200, { offices: [] }]);
    const [, status] = await get("/status");
    assertEquals([status.offices, status.members, status.process], [
      0,
      0,
      undefined,
    ]);
    const reason = "because";
    const there = [
      await get("/offices/north/members"),
      await get("/offices/north/calls"),
      await get("/offices/north/computers/pc/tools"),
      await get("/offices/north/computers/pc/call", { tool_name: "t" }),
      await get("/offices/north/calls/cancel", { req_id: "r", reason }),
      await get(`/members/${computer.socket.id}/kick`, { reason }),
    ];
    const nowhere = [
      await get("/offices/nowhere/members"),
      await get("/offices/nowhere/calls"),
      await get("/offices/nowhere/computers/pc/tools"),
      await get("/offices/nowhere/computers/pc/call", { tool_name: "t" }),
      await get("/offices/nowhere/calls/cancel", { req_id: "r", reason }),
      await get("/members/none/kick", { reason }),
    ];
    assertEquals(there.map(([code]) => code), there.map(() => 404));
    assertEquals(
      JSON.stringify(there).replaceAll("north", "nowhere"),
      JSON.stringify(nowhere),
    );
    const [revoked, problem] = await get("/keys/revoke", {
      principal: "key:lab",
      reason,
    });
    assertEquals([revoked, problem.errors[0].field], [403, "principal"]);
  }
  assert(computer.socket.connected);
});

Deno.test("an operator of several offices sees those", async () => {
  await using office = await served();
  await using south = await joinRaw(
    { url: office.url, auth: { api_key: "key-of-lab" } },
    "computer",
    "pc",
    "south-1",
  );
  const { body } = await operate(office.url, "/offices", {
    token: "key-of-south",
  });
  assertEquals(
    body.offices.map(({ office }: { office: string }) => office),
    ["south-1"],
  );
  assert(south.socket.connected);
});

Deno.test("without an operator there is no API, as on any unknown path", async () => {
  const servers = [
    createSmcpServer(),
    createSmcpServer({ authenticator: apiKeys([{ id: "lab", key: "lab" }]) }),
    createSmcpServer({
      operator: false,
      authenticator: apiKeys([{ id: "ops", key: "ops", roles: ["operator"] }]),
    }),
  ];
  for (const server of servers) {
    await using _ = server;
    const { url } = await server.listen();
    const answers = await Promise.all(
      ["/operator/v1/status", "/operator/v1/events", "/unknown"].map(
        async (path) => {
          const response = await fetch(url + path, {
            headers: { Authorization: "Bearer ops" },
          });
          return [response.status, await response.text()];
        },
      ),
    );
    assertEquals(answers[0], answers[2]);
    assertEquals(answers[1], answers[2]);
    assertEquals(answers[0]?.[0], 404);
  }
});
