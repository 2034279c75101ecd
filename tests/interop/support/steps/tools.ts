import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { resultMeta } from "../../../../protocol/mod.ts";
import { exposedName, hasBundleIds, type Step, textOf } from "./step.ts";

/** What the tools of a Computer are. */
export const TOOLS = {
  tools: async ({ sdk, computerSdk, agent }) => {
    const tools = await agent.tools();
    const whole = exposedName(computerSdk, "echo");
    const echo = tools.find(({ name }) => name === whole);
    assertEquals(echo?.description, "does echo");
    assertEquals(echo?.params_schema, { type: "object" });
    assertEquals(echo?.return_schema ?? null, null);
    // An older Computer may not say of which MCP server a tool is.
    const owner = echo?.bundle_id === "mcp" && !hasBundleIds(computerSdk)
      ? "mcp"
      : "fixture";
    if (hasBundleIds(sdk)) assertEquals(echo?.bundle_id, owner);
    else if (!hasBundleIds(computerSdk)) {
      assertEquals(echo?.bundle_id, undefined);
    }
  },
  "forbidden tool": async ({ computerSdk, agent }) => {
    const tools = await agent.tools();
    const pid = exposedName(computerSdk, "pid");
    assertEquals(tools.some(({ name }) => name === pid), false);
    assertEquals((await agent.call("pid")).isError, true);
  },
} satisfies Record<string, Step>;

/** A call that succeeds. */
export const CALL = {
  call: async ({ agent }) => {
    const result = await agent.call("echo", { text: "grüß dich, 你好" });
    assertEquals(textOf(result), "grüß dich, 你好");
    assert(!result.isError);
  },
} satisfies Record<string, Step>;

/** Calls that fail. */
export const ERRORS = {
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
} satisfies Record<string, Step>;

/** A call that its Agent ends. */
export const CANCEL = {
  cancel: async ({ agent }) => {
    const result = agent.callAs("x", "slow", 60);
    result.catch(() => {}); // reported by the await below
    assertEquals(textOf(await agent.call("slow_began")), "it began");
    await agent.cancel("x");
    assertEquals((await result).isError, true);
    assertEquals(resultMeta(await result).a2c_cancelled, true);
    assertEquals(textOf(await agent.call("slow_aborted")), "it was aborted");
  },
} satisfies Record<string, Step>;

/** A call that takes too long. */
export const TIMEOUT = {
  timeout: async ({ agent }) => {
    const result = await agent.call("slow", {}, { timeout: 1 });
    assertEquals(result.isError, true);
    assertEquals(textOf(await agent.call("echo", { text: "on" })), "on");
  },
} satisfies Record<string, Step>;

/** A call that the MCP server wants an authorization for. */
export const AUTHORIZATION = {
  authorization: async ({ agent }) => {
    const result = await agent.call("locked", {}, { timeout: 60 });
    assertEquals(result.isError, true);
    const { error_code, mcp_server } = resultMeta(result);
    assertEquals(error_code, 4006);
    assertEquals(mcp_server, "Vault");
    assertEquals(textOf(await agent.call("echo", { text: "on" })), "on");
  },
} satisfies Record<string, Step>;
