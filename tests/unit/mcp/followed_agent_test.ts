import fc from "fast-check";
import { assertEquals } from "@std/assert";
import type { AgentEvents } from "../../../agent/events.ts";
import { Emitter } from "../../../client/emitter.ts";
import {
  FollowedAgent,
  type OfficeTools,
} from "../../../mcp/office/followed_agent.ts";
import { resolveOptions } from "../../../mcp/options.ts";
import { Catalogue } from "../../../mcp/tools/catalogue.ts";
import { ProtocolError, type SMCPTool } from "../../../protocol/mod.ts";
import { TestClock } from "../../support/clock.ts";
import { mcpServers } from "../../support/mcp/servers.ts";

const IDS = Array.from({ length: 12 }, (_, at) => `s${at}`);

const toolOf = (id: string, name: string): SMCPTool => ({
  name: `${id}__${name}`,
  bundle_id: id,
  description: "",
  params_schema: {},
  return_schema: null,
});

/** An Agent whose Computer "pc" starts its MCP servers, and answers what its configuration is, when the test says so. */
class TestAgent implements OfficeTools {
  readonly tools = new Map<string, readonly SMCPTool[]>();
  readonly toolProblems = new Map<string, readonly string[]>();
  readonly startingServers = new Map<string, number>();
  readonly #events = new Emitter<AgentEvents>((error) => {
    throw error;
  });
  readonly #asked: PromiseWithResolvers<ReturnType<typeof mcpServers>>[] = [];
  readonly #running: string[] = [];

  on: OfficeTools["on"] = (event, listener) => this.#events.on(event, listener);

  toolsSettled = () => Promise.resolve();

  getConfig = () => {
    const asked = Promise.withResolvers<ReturnType<typeof mcpServers>>();
    this.#asked.push(asked);
    return asked.promise;
  };

  /** Lets another MCP server run. */
  start(id: string): void {
    this.#running.push(id);
    this.enter();
  }

  /** Lets the Computer come, or come back, with the tools of what runs. */
  enter(): void {
    const tools = this.#running.flatMap((id) =>
      ["read", "write", `own_${id}`].map((name) => toolOf(id, name))
    );
    this.tools.set("pc", tools);
    this.#events.emit("tools", { computer: "pc", tools });
  }

  leave(): void {
    this.tools.delete("pc");
    this.#events.emit("tools", { computer: "pc", tools: undefined });
  }

  /** Lets its configuration change, after which an Agent fetches the tools again. */
  change(): void {
    this.#events.emit("updateConfig", { computer: "pc" });
    this.enter();
  }

  /** Answers all that was asked so far. */
  answer(): void {
    for (const { resolve } of this.#asked.splice(0)) {
      resolve(mcpServers(...IDS));
    }
  }

  refuse(): void {
    for (const { reject } of this.#asked.splice(0)) {
      reject(new ProtocolError(404, "not of this Computer"));
    }
  }
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("a client that lists while MCP servers start finds each tool by one name, in whatever order and with whatever delay these start", async () => {
  const starts = fc.shuffledSubarray(IDS, { minLength: 12 });
  const between = fc.array(
    fc.array(
      fc.constantFrom("answer" as const, "refuse" as const, "leave" as const),
      { maxLength: 3 },
    ),
    { minLength: 12, maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(starts, between, async (ids, steps) => {
      const agent = new TestAgent();
      const followed = new FollowedAgent(agent, () => {});
      const table = new Catalogue(resolveOptions({}));
      const list = async () => {
        await turn();
        await table.update(followed.offers);
        for (const { shown, tool } of table.tools) {
          assertEquals(shown.name, `pc__${tool}`);
        }
      };
      for (const [at, id] of ids.entries()) {
        agent.start(id);
        await list();
        for (const step of steps[at] ?? []) {
          agent[step]();
          await list();
        }
      }
      agent.enter();
      await turn();
      agent.answer();
      await list();
      assertEquals(table.tools.length, 36);
      followed.end();
    }),
    { numRuns: 50 },
  );
});

Deno.test("the tools of a Computer with one MCP server are shown once its configuration is known, and under no other name before", async () => {
  for (
    const [way, name] of [["answer", "pc__read"], [
      "refuse",
      "pc__s0__read",
    ]] as const
  ) {
    const agent = new TestAgent();
    let changes = 0;
    const followed = new FollowedAgent(agent, () => changes++);
    const one = mcpServers("s0");
    agent.getConfig = () => {
      if (way === "refuse") return Promise.reject(new ProtocolError(404, ""));
      return Promise.resolve(one);
    };
    const table = new Catalogue(resolveOptions({}));
    agent.start("s0");
    await table.update(followed.offers);
    assertEquals(table.tools, []);
    await followed.inspected(1_000);
    await table.update(followed.offers);
    assertEquals([table.tools[0]?.shown.name, changes], [name, 1]);
    followed.end();
  }
});

Deno.test("a Computer is asked for its configuration once, and again when it has changed or come back", async () => {
  const agent = new TestAgent();
  let asked = 0;
  agent.getConfig = () => {
    asked++;
    return Promise.resolve(mcpServers(...IDS));
  };
  const followed = new FollowedAgent(agent, () => {});
  for (const id of IDS) agent.start(id);
  await followed.inspected(1_000);
  assertEquals(asked, 1);
  agent.leave();
  agent.enter();
  await followed.inspected(1_000);
  assertEquals(asked, 2);
  agent.change();
  await followed.inspected(1_000);
  assertEquals(asked, 3);
  followed.end();
});

Deno.test("started() waits for MCP servers that start, for each Computer once and for a time at most", async () => {
  using clock = new TestClock();
  const agent = new TestAgent();
  agent.startingServers.set("pc", 1);
  agent.enter();
  const followed = new FollowedAgent(agent, () => {});
  const ends: string[] = [];
  const wait = (name: string) => {
    const started = followed.started(5_000).then(() => void ends.push(name));
    return async () => {
      await clock.settled();
      return { started, ends: ends.splice(0) };
    };
  };
  clock.pass(1_000);
  const first = wait("first");
  agent.start("s0"); // another one still starts
  assertEquals((await first()).ends, []);
  agent.startingServers.delete("pc");
  agent.start("s1");
  agent.answer();
  assertEquals((await first()).ends, ["first"]);
  assertEquals((await wait("none starts")()).ends, ["none starts"]);
  agent.startingServers.set("pc", 1);
  agent.enter();
  const late = wait("late");
  clock.pass(3_999);
  assertEquals((await late()).ends, []);
  clock.pass(1);
  assertEquals((await late()).ends, ["late"]);
  assertEquals((await wait("after that")()).ends, ["after that"]);
  followed.end();
});
