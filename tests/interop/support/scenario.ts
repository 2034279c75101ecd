import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { type CallToolResult, resultMeta } from "../../../protocol/mod.ts";
import {
  type AgentParty,
  COMPUTER,
  type ComputerParty,
  OFFICE,
  WINDOW,
} from "./parties.ts";

/** An Agent and a Computer at one Server; the Agent joins first. */
export interface Office {
  readonly agent: AgentParty;
  readonly computer: ComputerParty;
}

/** One feature to test in an office. */
export type Step = (office: Office) => Promise<void>;

/** The text of a result. */
export const textOf = ({ content }: CallToolResult): string =>
  content.map(({ text }) => text ?? "").join("\n");

/** The features that must work with any Agent, Server and Computer, in this order. */
export const STEPS = {
  join: async ({ agent, computer }) => {
    await agent.join();
    await computer.join();
    assertEquals(await agent.heard("enter_office"), {
      office_id: OFFICE,
      computer: COMPUTER,
    });
  },
  list: async ({ agent }) => {
    assertEquals(await agent.computers(), [COMPUTER]);
  },
  tools: async ({ agent }) => {
    const tools = await agent.tools();
    const echo = tools.find(({ name }) => name === "echo");
    assertEquals(echo?.description, "does echo");
    assertEquals(echo?.params_schema, { type: "object" });
    assertEquals(echo?.return_schema ?? null, null);
  },
  "forbidden tool": async ({ agent }) => {
    const tools = await agent.tools();
    assertEquals(tools.some(({ name }) => name === "pid"), false);
    assertEquals((await agent.call("pid")).isError, true);
  },
  call: async ({ agent }) => {
    const result = await agent.call("echo", { text: "grüß dich, 你好" });
    assertEquals(textOf(result), "grüß dich, 你好");
    assert(!result.isError);
  },
  "error of the tool": async ({ agent }) => {
    const result = await agent.call("fail");
    assertEquals(result.isError, true);
    assertStringIncludes(textOf(result), "it went wrong");
  },
  "unknown tool": async ({ agent }) => {
    const result = await agent.call("nothing");
    assertEquals(result.isError, true);
  },
  "unknown computer": async ({ agent }) => {
    const failure = await agent.call("echo", {}, { computer: "nobody" })
      .then((result) => result.isError ? textOf(result) : "no failure", String);
    assertMatch(failure, /Computer (with name )?["']nobody["'] (is )?not/);
  },
  cancel: async ({ agent }) => {
    const result = agent.callAs("x", "slow", 60);
    result.catch(() => {}); // reported by the await below
    assertEquals(textOf(await agent.call("slow_began")), "it began");
    await agent.cancel("x");
    assertEquals((await result).isError, true);
    assertEquals(resultMeta(await result).a2c_cancelled, true);
    assertEquals(textOf(await agent.call("slow_aborted")), "it was aborted");
  },
  timeout: async ({ agent }) => {
    const result = await agent.call("slow", {}, { timeout: 1 });
    assertEquals(result.isError, true);
    assertEquals(textOf(await agent.call("echo", { text: "on" })), "on");
  },
  desktop: async ({ agent }) => {
    assertEquals(await agent.desktop(), [`${WINDOW}\n\ncontents of ${WINDOW}`]);
  },
  config: async ({ agent }) => {
    const { servers } = await agent.config();
    assertEquals(Object.keys(Object(servers)), ["fixture"]);
  },
  "notify update_config": async ({ agent, computer }) => {
    await computer.updateConfig();
    assertEquals(await agent.heard("update_config"), { computer: COMPUTER });
  },
  "notify update_tool_list": async ({ agent }) => {
    await agent.call("add_tool", { name: "fresh" });
    assertEquals(await agent.heard("update_tool_list"), { computer: COMPUTER });
  },
  "a new tool can be called": async ({ agent }) => {
    const isListed = async () =>
      (await agent.tools()).some(({ name }) => name === "fresh");
    // Earlier notifications may stem from the Computer's join.
    while (!await isListed()) await agent.heard("update_tool_list");
    assertEquals(textOf(await agent.call("fresh", { text: "new" })), "new");
  },
  "notify update_desktop": async ({ agent }) => {
    await agent.call("touch", { uri: WINDOW });
    assertEquals(await agent.heard("update_desktop"), { computer: COMPUTER });
  },
  leave: async ({ agent, computer }) => {
    await computer.leave();
    assertEquals(await agent.heard("leave_office"), {
      office_id: OFFICE,
      computer: COMPUTER,
    });
    assertEquals(await agent.computers(), []);
    await agent.leave();
  },
} satisfies Record<string, Step>;

/** The name of a step. */
export type StepName = keyof typeof STEPS;

/** Failures of the peer: the number in `README.md`, and a check of what happens instead. */
export type KnownFailures = Partial<
  Record<StepName, { known: number; instead: Step }>
>;

/** Runs all steps in an office; known failures of the peer must fail as described. */
export async function play(
  t: Deno.TestContext,
  office: Office,
  failures: KnownFailures = {},
): Promise<void> {
  for (const [name, step] of Object.entries<Step>(STEPS)) {
    const failure = failures[name as StepName];
    const passed = failure === undefined
      ? await t.step(name, () => bounded(step(office)))
      : await t.step(
        `${name}: fails at the peer, as in README.md, no. ${failure.known}`,
        () => bounded(failure.instead(office)),
      );
    if (name === "join" && !passed) return;
  }
}

/** Limits a step: a peer may never answer, which must fail the step and not block the suite. */
async function bounded(step: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const guard = setTimeout(
    () => reject(new Error("Nothing came within a minute")),
    60_000,
  );
  step.catch(() => {}); // may reject after the limit
  await Promise.race([step, promise]).finally(() => clearTimeout(guard));
}
