/**
 * The Server in Cloudflare's own runtime: a Worker as the door, objects with sessions, and an object for
 * each office.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  callEcho,
  joinAgent,
  joinComputer,
  OFFICE,
} from "../../support/edge/edge_office.ts";
import {
  endWorkers,
  LEAVES_TIMER,
  startAgentWorker,
  startExample,
  testWorker,
} from "../../support/edge/workerd.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { INITIALIZE, JSON_HEADERS } from "../../support/mcp/post.ts";
import { openEvents, operate } from "../../support/server/operator_client.ts";
import { connectRaw } from "../../support/wire/raw_client.ts";

Deno.test.afterAll(endWorkers);

const TRANSPORTS = [["websocket"], ["polling", "websocket"], [
  "polling",
]] as const;

for (const single of [false, true]) {
  const kind = single ? "one object" : "front and office objects";
  for (const transports of TRANSPORTS) {
    testWorker(
      `${kind}: members join over ${
        transports.join(" and then ")
      }, and calls pass unchanged`,
      async (server) => {
        const to = { url: server.url, transports: [...transports] };
        await using computer = await joinComputer(to);
        await using agent = await joinAgent(to);
        await agent.toolsSettled();
        assertEquals(agent.tools.get("pc")?.map(({ name }) => name), ["echo"]);
        const params = { text: "é 中 \u{1F600} \u2028", deep: [{ n: 1e-7 }] };
        assertEquals(await callEcho(agent, params), params);
        const left = Promise.withResolvers<string>();
        agent.on("leaveOffice", ({ computer }) => left.resolve(computer ?? ""));
        await computer.leave();
        assertEquals(await left.promise, "pc");
      },
      {
        OPTIONS: { insecure: true, single },
      },
    );
  }
}

testWorker(
  "members of one office at many fronts meet, and messages of 8 MB pass",
  async (server) => {
    await using stack = new AsyncDisposableStack();
    const names = Array.from({ length: 12 }, (_, i) => `pc-${i}`);
    const fronts = new Set<string>();
    for (const name of names) {
      const to = { url: server.url, transports: ["websocket" as const], name };
      stack.use(await joinComputer(to));
    }
    for (let i = 0; i < 12; i++) {
      const client = stack.use(await connectRaw(server.url));
      fronts.add(String(client.socket.io.engine.id).split(".")[0] ?? "");
    }
    assert(fronts.size > 1, [...fronts].join());
    const agent = stack.use(await joinAgent({ url: server.url }));
    const room = await agent.listRoom();
    assertEquals(
      room.map(({ name }) => name).sort(),
      ["ai", ...names].sort(),
    );
    stack.use(await joinComputer({ url: server.url }));
    const text = "x".repeat(8 * 2 ** 20 - 2000);
    assertEquals(await callEcho(agent, { text }), { text });
  },
  {
    OPTIONS: { insecure: true, fronts: 16 },
  },
);

testWorker(
  "keys decide at the front, at MCP and at the operator API, before an object of an office exists",
  async (server) => {
    const auth = { api_key: "good" };
    await using computer = await joinComputer({ url: server.url, auth });
    await assertRejects(
      () => computer.join("other"),
      Error,
      "Not allowed to join this office",
    );
    await assertRejects(
      () => joinAgent({ url: server.url, auth: { api_key: "bad" } }),
    );
    const mcp = async (office: string, key: string) => {
      const answer = await fetch(`${server.url}/mcp/${office}`, {
        method: "POST",
        headers: { ...JSON_HEADERS, Authorization: `Bearer ${key}` },
        body: INITIALIZE,
      });
      await answer.body?.cancel();
      return answer.status;
    };
    assertEquals(await mcp(OFFICE, "bad"), 401);
    assertEquals(await mcp("other", "good"), 403);
    assertEquals(await mcp(OFFICE, "good"), 200);
    const status = async (token: string) => {
      const { status, body } = await operate(server.url, "/status", { token });
      const nodes: { node: string }[] = body.nodes ?? [];
      return [
        status,
        ...nodes.map(({ node }) => node.replace(/^..-.*/, "front")).sort(),
      ];
    };
    assertEquals(await status("good"), [403]);
    assertEquals(await status("boss"), [200, "front", `office:${OFFICE}`]);
  },
  {
    OPTIONS: { fronts: 1 },
    MCP: true,
    KEYS: [
      { id: "lab", key: "good", offices: [OFFICE] },
      { id: "boss", key: "boss", roles: ["operator"] },
    ],
  },
);

for (const [kind, connect] of Object.entries(CLIENTS)) {
  testWorker(
    `an MCP client (${kind}) lists and calls the tools of an office`,
    async (server) => {
      await using _computer = await joinComputer({ url: server.url });
      const url = new URL(`/mcp/${OFFICE}`, server.url);
      await using client = await connect({ url });
      const [tool] = await client.tools();
      assertMatch(tool?.name ?? "", /echo/);
      const { content } = await client.call(tool?.name ?? "", { a: 1 });
      assertEquals(content, [{ type: "text", text: '{"a":1}' }]);
    },
    { MCP: true },
  );
}

const TOKEN = "0123456789abcdef".repeat(3);

testWorker(
  "operators see and change what is in all objects, follow events, and open the console",
  async ({ url }) => {
    const at = (path: string, post?: object) =>
      operate(url, path, { token: TOKEN, ...(post && { post }) });
    await using _computer = await joinComputer({ url });
    await using agent = await joinAgent({ url });
    await agent.toolsSettled();
    const { body: { offices } } = await at("/offices");
    assertEquals(offices, [{
      office: OFFICE,
      agent: "ai",
      computers: 1,
      pending_calls: 0,
      node: `office:${OFFICE}`,
    }]);
    const call = "computers/pc/call";
    const called = await at(`/offices/${OFFICE}/${call}`, {
      tool_name: "echo",
      params: { by: "operator" },
    });
    assertEquals(called.body.content?.[0].text, '{"by":"operator"}');
    const absent = await at(`/offices/nobody/${call}`, { tool_name: "echo" });
    assertEquals(absent.status, 404);
    await using events = await openEvents(url, { token: TOKEN });
    let isFollowed = false;
    const seen = events.nextOf("call_ended").then(() => isFollowed = true);
    // What happens before the registry follows the office is not in the stream.
    while (!isFollowed) await callEcho(agent, {});
    await seen;
    const { body: { members } } = await at(`/offices/${OFFICE}/members`);
    assertEquals(members.length, 2);
    const ended = Promise.withResolvers<void>();
    agent.on("disconnected", () => ended.resolve());
    const { id } = members.find(({ name }: { name: string }) => name === "ai");
    const kick = await at(`/members/${id}/kick`, { reason: "a test" });
    assertEquals(kick.body.done, 1);
    await ended.promise;
    await events.nextOf("member_kicked");
    const page = await fetch(`${url}/console`);
    assertEquals(page.status, 200);
    await page.text();
  },
  { OPTIONS: { insecure: true, operator: { token: TOKEN } } },
);

testWorker(
  "our Agent inside a Worker works at a Server inside a Worker",
  async (server) => {
    await using _computer = await joinComputer({ url: server.url });
    await using agent = await startAgentWorker();
    const query = `server=${encodeURIComponent(server.url)}&office=${OFFICE}`;
    const answer = await fetch(`${agent.url}/?${query}`);
    assertEquals(JSON.parse(await answer.text()), {
      tools: [{ computer: "pc", name: "echo" }],
      content: [{ type: "text", text: '{"said":"hi"}' }],
    });
  },
);

const EXAMPLES = {
  example:
    "the example of the pages serves with its wrangler.jsonc and secrets",
  page: "the page's program serves with one secret",
} as const;

for (const program of ["example", "page"] as const) {
  Deno.test({
    ...LEAVES_TIMER,
    name: EXAMPLES[program],
    fn: async () => {
      await using server = await startExample(program, {
        SMCP_KEYS: '[{"id":"lab","key":"for-a-try"}]',
        ...(program === "example" && {
          SMCP_OPERATOR_TOKEN: TOKEN,
          SMCP_PUBLIC_URL: "https://smcp.example",
          SMCP_SIGN_IN_SECRET: TOKEN.repeat(2),
        }),
      });
      const to = { url: server.url, auth: { api_key: "for-a-try" } };
      await using _computer = await joinComputer(to);
      await using agent = await joinAgent(to);
      assertEquals(await callEcho(agent, { n: 1 }), { n: 1 });
      if (program === "page") return;
      const { body } = await operate(server.url, "/offices", { token: TOKEN });
      assertEquals(body.offices.length, 1);
      const about = await fetch(
        `${server.url}/.well-known/oauth-authorization-server`,
      );
      assertEquals((await about.json()).issuer, "https://smcp.example");
    },
  });
}

testWorker(
  "/metrics has the sum of all objects, for those who may connect",
  async (server) => {
    const to = { url: server.url, auth: { api_key: "good" } };
    await using _computer = await joinComputer(to);
    await using agent = await joinAgent(to);
    await callEcho(agent, {});
    const read = async (key: string) => {
      const headers = { "x-api-key": key };
      const answer = await fetch(`${server.url}/metrics`, { headers });
      return [answer.status, await answer.text()] as const;
    };
    assertEquals((await read("bad"))[0], 401);
    const [status, text] = await read("good");
    assertEquals(status, 200);
    const value = (name: string) =>
      new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1];
    assertEquals([value("smcp_connections"), value("smcp_members")], [
      "2",
      "2",
    ]);
    assertEquals(value("smcp_cluster_homes"), "1");
  },
  {
    OPTIONS: {},
    METRICS: true,
    KEYS: [{ id: "lab", key: "good" }],
  },
);

testWorker(
  "the console has audit lines as JSON, with the address that Cloudflare says",
  async (server) => {
    await using _client = await joinComputer({
      url: server.url,
      headers: { "CF-Connecting-IP": "203.0.113.7" },
    });
    let line = await server.nextLine();
    while (line.message !== "joined") line = await server.nextLine();
    assertEquals(
      [line.logger, line.level, line.office, line.name, line.address],
      ["a2c-smcp.audit", "info", OFFICE, "pc", "203.0.113.7"],
    );
  },
);

testWorker(
  "hostile ids of sessions and paths reach no object, and are answered by the Worker",
  async (server) => {
    const at = `${server.url}/smcp/?EIO=4&transport=polling&a2c_version=0.2.0`;
    const unknown = ["x", "registry.x", "zz-0.x", "eu-4.x", "eu-01.x"]
      .concat("office:home.x", `eu-1.${"a".repeat(20)}`);
    for (const sid of unknown) {
      const answer = await fetch(`${at}&sid=${sid}`);
      assertEquals(
        [answer.status, await answer.json()],
        [400, { code: 1, message: "Session ID unknown" }],
        sid,
      );
    }
    const own = ["/.smcp/link", "/.smcp/metrics", "/.smcp/link?registry"];
    for (const path of own) {
      const answer = await fetch(server.url + path, {
        headers: { Upgrade: "websocket", Connection: "Upgrade" },
      });
      assertEquals(answer.status, 404, path);
      await answer.body?.cancel();
    }
  },
);
