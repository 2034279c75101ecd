import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { SmcpAgent } from "../../../agent/mod.ts";
import { ConfigError } from "../../../computer/mod.ts";
import { apiKeys } from "../../../server/mod.ts";
import { ErrorCode, ProtocolError, startOffice } from "../../../testing/mod.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";

const SERVERS = { files: fixture({ only: ["echo"] }) };

/** Answers as a Computer with one tool. */
const script = (event: string) => {
  if (event === "client:tool_call") {
    return { content: [{ type: "text", text: "scripted" }] };
  }
  const tool = { name: "greet", description: "", params_schema: {} };
  return { req_id: "1", tools: [{ ...tool, return_schema: null }] };
};

Deno.test("startOffice() starts a Server, real and scripted Computers and an Agent that has listed their tools", async () => {
  await using office = await startOffice({
    computers: { pc: { servers: SERVERS }, script },
  });
  const { agent } = office;
  assertEquals(
    [office.officeId, agent.office, agent.name, office.computer("pc").office],
    ["test", "test", "agent", "test"],
  );
  const tools = [...agent.tools]
    .map(([name, tools]) => [name, tools.map((t) => t.name)]);
  assertEquals(tools.sort(), [["pc", ["echo"]], ["script", ["greet"]]]);
  const echoed = await agent.callTool("pc", "echo", { message: "hello" });
  assertEquals(echoed.isError, undefined);
  const { content } = await agent.callTool("script", "greet");
  assertEquals(content[0]?.text, "scripted");
  assertThrows(
    () => office.computer("laptop"),
    Error,
    'There is no Computer "laptop"; there are: pc',
  );

  const late = await office.addComputer("late", { servers: SERVERS });
  assertEquals(agent.tools.get("late")?.length, 1);
  assertEquals(office.computer("late"), late);
  await agent.leave();
  const own = office.use(new SmcpAgent({ url: office.url, name: "own" }));
  await own.connect();
  await own.join(office.officeId);
  await own.toolsSettled();
  assertEquals([...own.tools.keys()].sort(), ["late", "pc", "script"]);
});

Deno.test("startOffice() passes options on to the Server, the Agent and each Computer", async () => {
  const auth = { api_key: "k".repeat(32) };
  await using office = await startOffice({
    officeId: "lab",
    server: { authenticator: apiKeys([{ id: "lab", key: auth.api_key }]) },
    agent: { name: "planner", auth },
    computers: { pc: { auth, confirm: () => "no" } },
  });
  await office.addScriptedComputer("late", script, { auth });
  const members = (await office.agent.listRoom()).map(({ name }) => name);
  assertEquals(members.sort(), ["late", "pc", "planner"]);
  assertEquals(office.agent.office, "lab");
  const unknown = () => office.addComputer("nobody");
  assertEquals((await assertRejects(unknown, ProtocolError)).code, 401);
});

Deno.test("what a script throws is an error of the protocol, and it sees that a call is cancelled", async () => {
  await using office = await startOffice();
  const { agent } = office;
  const called = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<string>();
  const computer = await office.addScriptedComputer("pc", (event) => {
    if (event === "client:get_config") {
      throw new ProtocolError(ErrorCode.FORBIDDEN, "not for you");
    }
    if (event === "client:get_desktop") throw new Error("secret");
    if (event !== "client:tool_call") return script(event);
    called.resolve();
    return new Promise(() => {});
  });
  computer.on("notification", ({ event }) => cancelled.resolve(event));
  const abort = new AbortController();
  const { signal } = abort;
  const call = agent.callTool("pc", "greet", {}, { signal });
  await called.promise;
  abort.abort(new Error("enough"));
  await assertRejects(() => call, Error, "enough");
  assertEquals(await cancelled.promise, "notify:tool_call_cancel");
  for (
    const [request, code, says] of [
      [() => agent.getConfig("pc"), 403, "not for you"],
      [() => agent.getDesktop("pc"), 500, "Internal error"],
    ] as const
  ) {
    const error = await assertRejects(request, ProtocolError);
    assertEquals([error.code, error.message], [code, says]);
  }
});

Deno.test("startOffice() closes what had started when a part cannot start", async () => {
  // What stayed open would fail this test: its resources are checked.
  const bad = { servers: { files: { type: "stdio" } } as never };
  await assertRejects(
    () => startOffice({ computers: { good: { servers: SERVERS }, bad } }),
    ConfigError,
    "files",
  );
  await assertRejects(
    () => startOffice({ computers: { pc: {} }, agent: { name: "" } }),
    TypeError,
    "option name",
  );
});

/** Closes with a word in the log, and throws it if it fails. */
const closing = (log: string[], word: string, fails = false) => ({
  [Symbol.asyncDispose]: () => {
    log.push(word);
    return fails ? Promise.reject(new Error(word)) : Promise.resolve();
  },
});

Deno.test("an office closes the last first, before its Agent and its Server, and takes nothing more", async () => {
  const log: string[] = [];
  const office = await startOffice();
  office.agent.on("disconnected", ({ reason }) => log.push(reason));
  office.use(closing(log, "first"));
  office.use(closing(log, "second"));
  await office.close();
  assertEquals(log.slice(0, 2), ["second", "first"]);
  assertEquals(office.agent.state, "closed");
  await assertRejects(() => fetch(`${office.url}/healthz`));
  assertThrows(() => office.use(closing([], "late")), Error, "closed");
  await assertRejects(() => office.addComputer("pc"), Error, "closed");
  await office.close();
});

Deno.test("an office closes everything even if parts of it fail, and says all that went wrong", async () => {
  const log: string[] = [];
  const one = await startOffice();
  one.use(closing(log, "fine"));
  one.use(closing(log, "broken", true));
  await assertRejects(() => one.close(), Error, "broken");
  const two = await startOffice();
  two.use(closing(log, "left", true));
  two.use(closing(log, "right", true));
  const error = await assertRejects(() => two.close(), AggregateError, "2");
  assertEquals(error.errors.map(({ message }) => message), ["right", "left"]);
  assertEquals(log, ["broken", "fine", "right", "left"]);
  assertEquals([one.agent.state, two.agent.state], ["closed", "closed"]);
});
