import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { byMcpName, CASTS, SCREEN_TIMEOUT_MS } from "./support/casts.ts";
import { ourAgent, ourServer } from "./support/parties/ours.ts";
import { type AgentParty, COMPUTER } from "./support/parties/party.ts";
import { pythonAgent, pythonComputer } from "./support/parties/python.ts";
import { textOf } from "./support/steps/step.ts";
import { compareParties } from "./support/table.ts";
import type { Sdk } from "./support/venv.ts";
import { openWorkplace } from "./support/workplace/workplace.ts";

/** Registers a test that may wait for a download of an SDK. */
const test = (name: string, run: () => Promise<void>) =>
  Deno.test({ name, timeout: SCREEN_TIMEOUT_MS, fn: run });

test("the table in README.md has a row for each cast, and no other", () =>
  compareParties("casts", CASTS));

test("clients of each version are refused by a Server of the other, with an error", async () => {
  await using old = await ourServer("0.1");
  await using today = await ourServer("0.2");
  await using oldAgent = await pythonAgent("0.1", today.url);
  await using agent = await pythonAgent("0.2", old.url);
  await using newAgent = await pythonAgent("0.4", today.url);
  await assertRejects(() => oldAgent.join(), Error, "ConnectionError");
  await assertRejects(() => agent.join(), Error, "ProtocolVersionError");
  await assertRejects(() => newAgent.join(), Error, "ProtocolVersionError");
});

test("nothing crosses between Python's offices of 0.2 and 0.4 with one id in one process", async () => {
  await using server = await ourServer("all");
  await using oldParties = await office("0.2", server.url);
  await using newParties = await office("0.4", server.url);
  const [older, newer] = [oldParties.agent, newParties.agent];
  await server.logged("members of different versions do not see each other");

  assertEquals(await older.computers(), [COMPUTER]);
  assertEquals(await newer.computers(), [COMPUTER]);
  const names = async (agent: AgentParty) =>
    (await agent.tools()).map(({ name }) => String(name));
  assertEquals((await names(older)).filter((n) => n.includes("__")), []);
  assertEquals((await names(newer)).filter((n) => !n.includes("__")), []);

  const calls = [older, newer].map((agent) => agent.callAs("x", "slow", 60));
  for (const agent of [older, newer]) await agent.call("slow_began");
  await older.cancel("x");
  assertEquals((await calls[0])?.isError, true);
  assertEquals(textOf(await older.call("slow_aborted")), "it was aborted");
  await newer.cancel("x"); // still running
  assertEquals((await calls[1])?.isError, true);
  assertEquals(textOf(await newer.call("slow_aborted")), "it was aborted");

  await newParties.computer.leave();
  await newer.heard("leave_office");
  assertEquals(await newer.computers(), []);
  assertEquals(await older.computers(), [COMPUTER]);
  await oldParties.computer.updateConfig();
  await older.heard("update_config");
  assertEquals(older.unread("leave_office"), 0);
  assertEquals(newer.unread("update_config"), 0);
  assertEquals(newer.unread("enter_office"), 0);
});

test("Python's Agents show a key in auth.token, and are refused without a right one", async () => {
  const key = "a-key-of-the-interop-suite";
  await using server = await ourServer("all", {
    SMCP_API_KEYS: JSON.stringify([{ id: "ci", key }]),
  });
  for (const sdk of ["0.2", "0.3", "0.4"] as const) {
    await using wrong = await pythonAgent(sdk, server.url, "another-key");
    await assertRejects(() => wrong.join(), Error, "ConnectionError");
    await using right = await pythonAgent(sdk, server.url, key);
    await right.join();
    assertEquals(await right.computers(), []);
  }
});

test("our Agent finds the version of a Server, and meets Python's Computers of it", async () => {
  for (const sdk of ["0.2", "0.3", "0.4"] as const) {
    await using server = await ourServer(sdk);
    await using place = await openWorkplace();
    await using agent = byMcpName(sdk, ourAgent("auto", server.url));
    await using computer = await pythonComputer(sdk, server.url, place);
    await agent.join();
    await computer.join();
    assertStringIncludes(
      textOf(await agent.call("echo", { text: `in ${sdk}` })),
      sdk,
    );
  }
});

/** An Agent and a Computer of a Python SDK that have joined the office. */
async function office(sdk: Sdk, url: string) {
  await using started = new AsyncDisposableStack();
  const place = started.use(await openWorkplace());
  const agent = byMcpName(sdk, started.use(await pythonAgent(sdk, url)));
  const computer = started.use(await pythonComputer(sdk, url, place));
  await agent.join();
  await computer.join();
  await agent.heard("enter_office");
  const parties = started.move();
  return {
    agent,
    computer,
    [Symbol.asyncDispose]: () => parties.disposeAsync(),
  };
}
