import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { SmcpAgent } from "../../agent/mod.ts";
import { operate } from "../support/server/operator_client.ts";
import {
  byMcpName,
  CASTS,
  compareParties,
  SCREEN_TIMEOUT_MS,
} from "./support/casts.ts";
import {
  COMPUTER,
  OFFICE,
  ourAgent,
  ourServer,
  pythonAgent,
  pythonComputer,
} from "./support/parties.ts";
import { textOf } from "./support/scenario.ts";
import { openWorkplace } from "./support/workplace.ts";

/** Registers a test that may wait for a download of an SDK. */
const test = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name, timeout: SCREEN_TIMEOUT_MS, fn });

test("the table in README.md has a row for each cast, and no other", () =>
  compareParties("casts", CASTS));

test("clients of each version are refused by a Server of the other, with an error", async () => {
  await using old = await ourServer("0.1");
  await using today = await ourServer("0.2");
  for (
    const [sdk, { url }, why] of [
      ["0.1", today, "ConnectionError"],
      ["0.2", old, "ProtocolVersionError"],
      ["0.4", today, "ProtocolVersionError"],
    ] as const
  ) {
    await using agent = await pythonAgent(sdk, url);
    await assertRejects(() => agent.join(), Error, why);
  }
});

test("an office has one Agent, whatever its version, and shows the version of each member to those that have one", async () => {
  await using server = await ourServer("all");
  await using place = await openWorkplace();
  await using agent = await pythonAgent("0.2", server.url);
  await using computer = await pythonComputer("0.4", server.url, place);
  await agent.join();
  await computer.join();
  await agent.heard("enter_office");
  await using second = ourAgent("auto", server.url);
  await assertRejects(() => second.join(), Error, "Room already has an agent");
  assertEquals(await agent.computers(), [COMPUTER]);
  await agent.leave();
  await using newest = new SmcpAgent({ url: server.url, name: "newest" });
  await newest.connect();
  await newest.join(OFFICE);
  const versions = (await newest.listRoom())
    .map(({ role, a2c_version }) => [role, a2c_version]);
  assertEquals(versions, [["agent", "0.4.0"], ["computer", "0.4.0"]]);
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
    const text = `in ${sdk}`;
    assertStringIncludes(textOf(await agent.call("echo", { text })), sdk);
  }
});

for (const sdk of ["0.1", "0.2", "0.3", "0.4"] as const) {
  test(`${sdk}: Python's Computer answers our operators, whom it takes for an Agent`, async () => {
    await using server = await ourServer(sdk);
    const token = await server.printed("with the token ");
    await using place = await openWorkplace();
    await using computer = await pythonComputer(sdk, server.url, place);
    await computer.join();
    const ask = async (path: string, post?: unknown) => {
      const url = `/offices/${OFFICE}/computers/${COMPUTER}/${path}`;
      const end = await operate(server.url, url, { token, post });
      assertEquals(end.status, 200, JSON.stringify(end.body));
      return end.body;
    };
    const { tools } = await ask("tools");
    const names: string[] = tools.map(({ name }: { name: string }) => name);
    const tool_name = names.find((name) => /^(.*__)?echo$/.test(name));
    assert(tool_name !== undefined, names.join());
    assert(Object.keys((await ask("config")).servers).length > 0);
    assert(Array.isArray((await ask("desktop")).desktops));
    const call = { tool_name, params: { text: "on" } };
    assertEquals((await ask("call", call)).content[0].text, "on");
  });
}
