/**
 * Approvals at the Servers of a cluster: a device reaches its Computer by any of them.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { approvals } from "@a2c-smcp/server/approvals";
import { joinCluster } from "../../server/cluster/mod.ts";
import { createSmcpServer, type SmcpServer } from "../../server/mod.ts";
import {
  answerOf,
  newDevice,
  postDevice,
  RelayedComputer,
} from "../support/approvals/relayed.ts";
import {
  balancerFiles,
  PLAYED,
  PUBLIC_NAME,
  startBalancerOf,
  startCaddy,
} from "../support/cluster/balancers.ts";
import { startRedis } from "../support/cluster/redis.ts";
import { post } from "../support/mcp/post.ts";
import { joinRaw } from "../support/wire/raw_client.ts";

/** A Server with approvals. */
interface Node extends AsyncDisposable {
  readonly server: SmcpServer;
  readonly url: string;
}

async function startNode(
  redis?: string,
  host?: string,
  hasApprovals = true,
): Promise<Node> {
  const server = createSmcpServer({
    ...(redis !== undefined && { cluster: await joinCluster(redis) }),
    ...(hasApprovals &&
      { approvals: approvals(host === undefined ? {} : { host }) }),
    trustedProxies: 1,
  });
  const { url } = await server.listen({ port: 0 });
  return { server, url, [Symbol.asyncDispose]: () => server.close() };
}

Deno.test({
  name:
    "a device, its Computer and the home of the office may be at three Servers; the 404 is the same at all",
  timeout: 120_000,
}, async () => {
  await using redis = await startRedis();
  await using a = await startNode(redis.url);
  await using b = await startNode(redis.url);
  await using c = await startNode(redis.url);
  // Its first member makes "a" the home.
  await using _agent = await joinRaw(a.url, "agent", "planner", "north");
  const phone = await newDevice();
  const other = await newDevice("tablet");
  await using computer = await RelayedComputer.join(b.url, [phone]);
  const most = "x".repeat(65_536);
  for (const { url } of [a, b, c]) {
    const answer = await answerOf(await postDevice(url, phone.token, most));
    assertEquals([answer.status, answer.text], [200, `yes to ${most}`]);
  }
  const wrong = [];
  for (const { url } of [a, b, c]) {
    for (
      const [token, path] of [
        [other.token, "/approve/v1/north/laptop"],
        [phone.token, "/approve/v1/north/desktop"],
        [phone.token, "/approve/v1/south/laptop"],
      ] as const
    ) wrong.push(await answerOf(await postDevice(url, token, "x", { path })));
  }
  for (const each of wrong) assertEquals(each, wrong[0]);
  assertEquals(wrong[0]?.status, 404);
  assertEquals(computer.asked.length, 3);

  // The limits of a device hold at all Servers together.
  const gone = new AbortController();
  const { signal } = gone;
  const polls = [a, c].map(({ url }) =>
    postDevice(url, phone.token, "wait", { signal })
  );
  await computer.got(5);
  const third = await answerOf(await postDevice(b.url, phone.token, "x"));
  assertEquals(third.status, 429);
  // A device that is removed is unknown at all.
  assertEquals(await computer.update([other]), { devices: 1 });
  for (const poll of polls) assertEquals((await poll).status, 404);
  for (const poll of polls) await (await poll).body?.cancel();
  const late = await answerOf(await postDevice(c.url, phone.token, "x"));
  assertEquals(late, wrong[0]);
  // The Server of the device ends: it says so, and the Computer is asked no more.
  const last = postDevice(c.url, other.token, "wait");
  await computer.got(6);
  const closed = c.server.close({ graceMs: 60_000 });
  assertEquals((await answerOf(await last)).status, 503);
  await closed;
  // That of the Computer: no poll holds it up.
  const held = postDevice(a.url, other.token, "wait");
  await computer.got(7);
  await b.server.close({ graceMs: 60_000 });
  assertEquals((await answerOf(await held)).status, 404);
});

Deno.test({
  name:
    "where one Server of a cluster has approvals and another does not, a device gets its answer or a 404 of both",
  timeout: 120_000,
}, async () => {
  await using redis = await startRedis();
  await using has = await startNode(redis.url);
  await using lacks = await startNode(redis.url, undefined, false);
  const phone = await newDevice();
  const rows = [
    { home: has, place: lacks, statuses: [200, 404] },
    { home: lacks, place: has, statuses: [404, 404] },
  ];
  for (const [i, { home, place, statuses }] of rows.entries()) {
    const office = `office ${i}`;
    await using agent = await joinRaw(home.url, "agent", "planner", office);
    await using _pc = await RelayedComputer.join(place.url, [phone], {
      office,
    });
    await agent.next("notify:enter_office");
    const path = `/approve/v1/${encodeURIComponent(office)}/laptop`;
    const got = [];
    for (const { url } of [has, lacks]) {
      const answer = await postDevice(url, phone.token, "x", { path });
      got.push((await answerOf(answer)).status);
    }
    assertEquals([got, agent.heard], [statuses, []]);
  }
});

/** How long a device's poll waits. */
const POLL_MS = 25_000;

Deno.test({
  name:
    "through each balancer a poll of 25 s passes, and a device reaches its Computer by any Server",
  timeout: 300_000,
}, async (t) => {
  await using redis = await startRedis();
  const play = async (file: string) => {
    const shared = file in PLAYED ? redis.url : undefined;
    await using a = await startNode(shared);
    await using b = await startNode(shared);
    await using c = await startNode(shared);
    const phone = await newDevice();
    const office = file; // the Servers of all share one Redis
    await using computer = await RelayedComputer.join(a.url, [phone], {
      office,
      answering: (text) => text === "poll" ? undefined : `yes to ${text}`,
    });
    computer.raw.handle("client:device", async (payload, ack) => {
      const { body, req_id } = Object(payload);
      if (atob(body) === "poll") await sleep(POLL_MS);
      ack({ body, req_id });
    });
    await using balancer = await startBalancerOf(file, [a, b, c]);
    const send = (body: string) =>
      post(`${balancer.url}/approve/v1/${office}/laptop`, {
        headers: {
          host: PUBLIC_NAME,
          authorization: `Bearer ${phone.token}`,
        },
        body,
      });
    const poll = send("poll");
    const answers = [];
    for (let i = 0; i < 6; i++) answers.push((await send(`answer ${i}`)).body);
    assertEquals(answers, Array.from(answers, (_, i) => `answer ${i}`));
    const { status, body } = await poll;
    assertEquals([status, body], [200, "poll"]);
  };
  // All at the same time: each takes as long as its poll.
  await Promise.all(
    balancerFiles().map((name) =>
      t.step({
        name,
        fn: () => play(name),
        sanitizeOps: false,
        sanitizeResources: false,
        sanitizeExit: false,
      })
    ),
  );
});

const sleep = (ms: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, ms));

Deno.test({
  name:
    "page and requests of devices work below a path that the proxy takes off, and under a host name of their own",
  timeout: 120_000,
}, async () => {
  const own = "approve.example.com";
  await using server = await startNode(undefined, own);
  const phone = await newDevice();
  await using _pc = await RelayedComputer.join(server.url, [phone]);
  const { host } = new URL(server.url);
  await using proxy = await startCaddy(`
http://${own}:$PORT, http://${PUBLIC_NAME}:$PORT {
  handle_path /smcp/* {
    reverse_proxy ${host}
  }
}`);
  const send = (name: string, path: string, method = "GET") =>
    post(`${proxy.url}/smcp${path}`, {
      method,
      headers: { host: name, authorization: `Bearer ${phone.token}` },
      body: method === "POST" ? "x" : "",
    });
  const page = await send(own, "/approve");
  assertEquals(page.status, 200);
  for (const [, part] of page.body.matchAll(/(?:src|href)="([^"]+)"/g)) {
    assertEquals((await send(own, `/${part}`)).status, 200, part);
  }
  const path = "/approve/v1/north/laptop";
  const answer = await send(own, path, "POST");
  assertEquals([answer.status, answer.body], [200, "yes to x"]);
  assertEquals((await send(own, "/health")).status, 404);
  assertEquals((await send(PUBLIC_NAME, "/approve")).status, 404);
  assertEquals((await send(PUBLIC_NAME, path, "POST")).status, 404);
  assertEquals((await send(PUBLIC_NAME, "/health")).status, 200);
});
