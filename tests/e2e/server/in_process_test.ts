import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ConnectionError, SmcpAgent } from "../../../agent/mod.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import { GET_TOOLS_EVENT, ProtocolError } from "../../../protocol/mod.ts";
import { createFetchServer } from "../../../server/fetch/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { scriptedComputer } from "../../../testing/mod.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";

const TOKEN = "t".repeat(40);

/** Answers as a Computer with one tool. */
const script = (event: string) =>
  event === GET_TOOLS_EVENT
    ? {
      req_id: "1",
      tools: [{
        name: "greet",
        description: "",
        params_schema: {},
        return_schema: null,
      }],
    }
    : { content: [{ type: "text", text: "hello" }] };

for (const create of [createSmcpServer, createFetchServer]) {
  const { name } = create;

  Deno.test(`an Agent and Computers meet in process, without listen(): ${name}()`, async () => {
    await using smcp = create();
    await using pc = new SmcpComputer({
      connection: smcp.connect(),
      name: "pc",
      servers: { files: fixture({ only: ["echo"] }) },
      confirm: () => "once",
    });
    await using other = scriptedComputer({
      connection: smcp.connect({ protocol: "0.2" }),
      name: "old",
      script,
    });
    await using agent = new SmcpAgent({
      connection: smcp.connect(),
      name: "planner",
    });
    for (const one of [pc, other, agent]) await one.connect();
    await pc.serversSettled();
    for (const one of [pc, other, agent]) await one.join("north");
    await agent.toolsSettled();
    const { content } = await agent.callTool("old", "greet");
    assertEquals<unknown>(content, [{ type: "text", text: "hello" }]);
    const [tool] = agent.tools.get("pc") ?? [];
    const echoed = await agent.callTool("pc", tool?.name ?? "", {
      message: "hi",
    });
    assertEquals(echoed.isError, undefined);
    const members = await agent.listRoom();
    assertEquals(
      members.map(({ name, a2c_version }) => [name, a2c_version]).sort(),
      [["old", "0.2.0"], ["pc", "0.4.0"], ["planner", "0.4.0"]],
    );
    assertEquals([pc.url, smcp.stats.members], ["in process", 3]);
  });

  Deno.test(`close() ends clients in process for good, and connect() throws then: ${name}()`, async () => {
    const smcp = create();
    const connection = smcp.connect();
    await using agent = new SmcpAgent({ connection, name: "planner" });
    await agent.connect();
    await agent.join("north");
    const ended = Promise.withResolvers<boolean>();
    agent.on("disconnected", (value) => ended.resolve(value.reconnecting));
    await smcp.close();
    assertEquals([await ended.promise, agent.state], [false, "closed"]);
    assertThrows(() => smcp.connect(), ProtocolError, "shutting down");
    await using late = new SmcpAgent({ connection, name: "late" });
    await assertRejects(() => late.connect(), ProtocolError, "shutting down");
  });
}

Deno.test("members in process and over the network share an office, its one Agent and its names (spec §5)", async () => {
  await using smcp = createSmcpServer();
  const { url } = await smcp.listen({ port: 0 });
  await using inside = new SmcpAgent({
    connection: smcp.connect(),
    name: "inside",
  });
  await using outside = new SmcpAgent({ url, name: "outside" });
  await inside.connect();
  await inside.join("north");
  await outside.connect();
  await assertRejects(
    () => outside.join("north"),
    ConnectionError,
    "Room already has an agent",
  );
  await inside.leave();
  await outside.join("north");
  const entered = Promise.withResolvers<string>();
  outside.on("enterOffice", ({ computer }) => entered.resolve(`${computer}`));
  await using pc = scriptedComputer({
    connection: smcp.connect(),
    name: "pc",
    script,
  });
  await pc.connect();
  await pc.join("north");
  assertEquals(await entered.promise, "pc");
});

Deno.test("a client in process joins within its identity, and the Server's authenticator is not asked (spec §10)", async () => {
  let asked = 0;
  await using smcp = createSmcpServer({
    authenticator: {
      authenticate: () => {
        asked++;
        return { refused: "nobody" };
      },
    },
  });
  const identity = {
    principal: "worker",
    policy: { roles: ["computer" as const], names: ["pc-*"] },
  };
  await using pc = scriptedComputer({
    connection: smcp.connect({ identity }),
    name: "pc-1",
    script,
  });
  await pc.connect();
  await pc.join("north");
  const connection = smcp.connect({ identity });
  await using agent = new SmcpAgent({ connection, name: "pc-2" });
  await agent.connect();
  await assertRejects(
    () => agent.join("north"),
    ConnectionError,
    "Not allowed to join as agent",
  );
  assertEquals(asked, 0);
});

Deno.test("a Computer in process that is kicked by an operator comes back; operators see it as in process", async () => {
  await using smcp = createFetchServer({ operator: { token: TOKEN } });
  await using pc = scriptedComputer({
    connection: smcp.connect(),
    name: "pc",
    script,
  });
  await pc.connect();
  await pc.join("north");
  const ask = async (path: string, method = "GET", body?: object) => {
    const request = new Request(`http://localhost/operator/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${TOKEN}`,
        "content-type": "application/json",
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const remoteAddr = { transport: "tcp", hostname: "127.0.0.1" };
    const response = await smcp.fetch(request, { remoteAddr });
    return await response.json();
  };
  const { members: [{ id, address }] } = await ask("/offices/north/members");
  assertEquals(address, "in process");
  const back = new Promise<void>((resolve) =>
    pc.on("joined", ({ rejoined }) => rejoined && resolve())
  );
  await ask(`/members/${id}/kick`, "POST", { reason: "test", hold_ms: 0 });
  await back;
});

Deno.test("url and connection together, or a connection with options of the network, are refused by name", async () => {
  await using smcp = createSmcpServer();
  const connection = smcp.connect();
  const make = (options: object) => () =>
    new SmcpComputer({ name: "pc", servers: {}, ...options });
  assertThrows(make({}), TypeError, "without the option url");
  assertThrows(
    make({ connection, url: "http://127.0.0.1:1" }),
    TypeError,
    "Cannot use the option url with connection, which needs no network: give one of them",
  );
  assertThrows(
    make({ connection, auth: { api_key: "k" } }),
    TypeError,
    "give the identity to connect() of the Server",
  );
});
