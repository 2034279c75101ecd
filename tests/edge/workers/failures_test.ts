/**
 * What ends in Cloudflare's runtime, and comes back: a connection, an object, all objects at a deploy.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { ProtocolError, TOOL_CALL_EVENT } from "../../../protocol/mod.ts";
import {
  callEcho,
  echo,
  joinAgent,
  joinComputer,
  OFFICE,
} from "../../support/edge/edge_office.ts";
import {
  endWorkers,
  testWorker,
  type Workerd,
} from "../../support/edge/workerd.ts";
import { operate } from "../../support/server/operator_client.ts";
import { startProxy } from "../../support/proxy.ts";
import { connectRaw } from "../../support/wire/raw_client.ts";

Deno.test.afterAll(endWorkers);

/** Where Miniflare says that all requests come from. */
const CONTINENT = "na";

/** Resolves when a member is back in its office. */
const rejoined = (member: {
  on(
    event: "joined",
    listener: (event: { readonly rejoined: boolean }) => void,
  ): unknown;
}): Promise<void> =>
  new Promise((resolve) =>
    member.on("joined", (event) => event.rejoined && resolve())
  );

/** What ends: how, and whether both members lose their connections. */
const ENDS: Readonly<Record<string, (server: Workerd) => Promise<void>>> = {
  "the object of the office": (server) => server.end(`office=office:${OFFICE}`),
  "all objects, at a deploy": (server) =>
    server.deploy({ OPTIONS: { insecure: true, fronts: 1 } }),
  "the one front": (server) => server.end(`front=${CONTINENT}-0`),
};

for (const [what, end] of Object.entries(ENDS)) {
  testWorker(
    `members come back by themselves after the end of ${what}, and calls pass again`,
    async (server) => {
      await using computer = await joinComputer({ url: server.url });
      await using agent = await joinAgent({ url: server.url });
      assertEquals(await callEcho(agent, { n: 1 }), { n: 1 });
      const back = Promise.all([rejoined(agent), rejoined(computer)]);
      await end(server);
      await back;
      assertEquals(await callEcho(agent, { n: 2 }), { n: 2 });
      const room = await agent.listRoom();
      assertEquals(room.map(({ name }) => name).sort(), ["ai", "pc"]);
    },
    {
      OPTIONS: { insecure: true, fronts: 1 },
    },
  );
}

testWorker(
  "a call on its way is answered when the object of its office ends, and runs once",
  async (server) => {
    const asked = Promise.withResolvers<void>();
    let runs = 0;
    const never = Promise.withResolvers<unknown>();
    await using computer = await joinComputer({
      url: server.url,
      script: (event, payload) => {
        if (event !== TOOL_CALL_EVENT) return echo(event, payload);
        runs++;
        asked.resolve();
        return never.promise;
      },
    });
    await using agent = await joinAgent({ url: server.url });
    const back = rejoined(computer);
    const call = assertRejects(
      () => agent.callTool("pc", "echo", {}),
      ProtocolError,
    );
    await asked.promise;
    await server.end(`office=office:${OFFICE}`);
    await call;
    await back;
    never.resolve({ content: [] });
    assertEquals(runs, 1);
  },
);

const TOKEN = "0123456789abcdef".repeat(3);

testWorker(
  "the registry comes back after its end: operators see all objects again",
  async (server) => {
    await using _computer = await joinComputer({ url: server.url });
    const offices = async () => {
      const { body } = await operate(server.url, "/offices", { token: TOKEN });
      return body.offices.map(({ office }: { office: string }) => office);
    };
    assertEquals(await offices(), [OFFICE]);
    await server.end("office=registry");
    // Objects connect again when they notice, which they do on their own.
    let found = await offices();
    while (found.length === 0) found = await offices();
    assertEquals(found, [OFFICE]);
  },
  { OPTIONS: { insecure: true, operator: { token: TOKEN } } },
);

testWorker(
  "a member whose connection breaks comes back, and its seat is its own",
  async (server) => {
    await using proxy = await startProxy(server.url);
    await using computer = await joinComputer({ url: proxy.url });
    await using agent = await joinAgent({ url: server.url });
    const back = rejoined(computer);
    proxy.sever();
    await back;
    assertEquals(await callEcho(agent, { n: 3 }), { n: 3 });
  },
);

testWorker(
  "a polling session goes on at its front while other objects end",
  async (server) => {
    await using client = await connectRaw(server.url, {
      transports: ["polling"],
    });
    const [front] = String(client.socket.io.engine.id).split(".");
    const other = front?.endsWith("0") ? "1" : "0";
    await server.end(`front=${CONTINENT}-${other}`);
    await server.end("office=registry");
    const [ok] = await client.join("computer", "pc", OFFICE);
    assert(ok);
  },
  {
    OPTIONS: { insecure: true, fronts: 2 },
  },
);
