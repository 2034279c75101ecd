import { assert, assertEquals } from "@std/assert";
import { type CallToolResult, resultMeta } from "../../../protocol/mod.ts";
import type { KnownFailures } from "./scenario.ts";
import { type Office, textOf } from "./steps/step.ts";

/** A call that is cancelled once it has begun; otherwise it would end after so many seconds. */
async function cancelled(
  office: Office,
  timeout: number,
): Promise<CallToolResult> {
  const result = office.agent.callAs("x", "slow", timeout);
  await office.agent.call("slow_began");
  await office.agent.cancel("x");
  return await result;
}

/** Failures of the Computer of Python `a2c-smcp` 0.1, numbered as in `README.md`. */
export const COMPUTER_0_1: KnownFailures = {
  "forbidden tool": {
    known: 1,
    async instead({ agent }) {
      const tools = await agent.tools();
      assertEquals(tools.some(({ name }) => name === "pid"), true);
      assertEquals((await agent.call("pid")).isError, true);
    },
  },
  cancel: {
    known: 2,
    async instead(office) {
      const result = await cancelled(office, 2);
      assertEquals(result.isError, true); // at its timeout
      assertEquals(resultMeta(result).a2c_cancelled, undefined);
    },
  },
  "a new tool can be called": {
    known: 3,
    async instead({ agent }) {
      const result = await agent.call("fresh", { text: "new" });
      assertEquals(result.isError, true);
    },
  },
};

/** Failures of the Computer of Python `a2c-smcp` 0.2. */
export const COMPUTER_0_2: KnownFailures = {
  authorization: {
    known: 8,
    async instead({ agent }) {
      const result = await agent.call("locked", {}, { timeout: 2 });
      assertEquals(result.isError, true); // at its timeout
      assertEquals(resultMeta(result).error_code === 4006, false);
    },
  },
  cancel: {
    known: 4,
    async instead(office) {
      const result = await cancelled(office, 60);
      assertEquals(result.isError, true);
      assert(textOf(result).includes("Tool call cancelled"));
      assertEquals(resultMeta(result).a2c_cancelled, undefined);
      const aborted = await office.agent.call("slow_aborted");
      assertEquals(textOf(aborted), "it was aborted");
    },
  },
  "a new tool can be called": {
    known: 3,
    async instead({ agent }) {
      const result = await agent.call("fresh", { text: "new" });
      assertEquals(result.isError, true);
    },
  },
};

/** Failures of the Agent of Python `a2c-smcp` 0.1. */
export const AGENT_0_1: KnownFailures = {
  "unknown computer": {
    known: 5,
    async instead({ agent }) {
      const result = await agent.call("echo", {}, { computer: "nobody" });
      assertEquals(result.isError, true);
      assert(textOf(result).includes("validation error for CallToolResult"));
    },
  },
};

/** Failures of the Server of Python `a2c-smcp` 0.1. */
export const SERVER_0_1: KnownFailures = {
  "unknown computer": {
    known: 6,
    async instead({ agent }) {
      const to = { computer: "nobody", timeout: 1 };
      const result = await agent.call("echo", {}, to);
      assertEquals(result.isError, true); // the Agent's own timeout
      assertEquals(textOf(result).includes("nobody"), false);
    },
  },
  config: {
    known: 7,
    async instead({ agent }) {
      const config = await agent.config().catch(() => null);
      assertEquals(config, null);
    },
  },
};

/** Failures of the Agent of Rust `smcp-agent` 0.4. */
export const RUST_AGENT: KnownFailures = {
  cancel: {
    known: 9,
    async instead({ agent }) {
      const result = await agent.call("slow");
      assertEquals(result.isError, true); // at its timeout, which cancels it
      assertEquals(textOf(await agent.call("slow_aborted")), "it was aborted");
    },
  },
};
