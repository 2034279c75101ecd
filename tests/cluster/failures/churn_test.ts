import { assert, assertEquals } from "@std/assert";
import {
  startCluster,
  type TestCluster,
} from "../../support/cluster/rig/cluster.ts";
import { timeoutOf, times } from "../../support/cluster/rig/long.ts";
import {
  askForSeat,
  callTool,
  comings,
  joinAgent,
  joinComputer,
  roomOf,
} from "../../support/cluster/rig/members.ts";
import { until } from "../../support/cluster/programs.ts";
import type { TestNode } from "../../support/cluster/rig/node.ts";
import { seeded } from "../../support/wire/hostile_payloads.ts";
import type { RawClient } from "../../support/wire/raw_client.ts";

const SECONDS = times("SMCP_CLUSTER_CHURN_SECONDS", { short: 20, long: 1800 });

/** A node is killed so often, and another takes its place. */
const KILL_EVERY_MS = SECONDS > 60 ? 15_000 : 4000;

const OFFICES = ["o0", "o1", "o2"];
const COMPUTERS = ["pc0", "pc1", "pc2"];

Deno.test({
  name:
    `${SECONDS} s of joins, leaves and calls on three nodes, with kills and a restart of Redis: no ghost, no two Agents, each notice once`,
  timeout: timeoutOf(SECONDS, 1000) + 120_000,
}, async () => {
  await using cluster = await startCluster({ redis: { persistent: true } });
  const home = cluster.node(0);
  await using watcher = await joinAgent(home.url, "watcher", "watched");
  const churn = new Churn(cluster);
  await Promise.all([
    churn.kills(),
    ...["watched", ...OFFICES].flatMap((office) =>
      COMPUTERS.map((name) => churn.computers(name, office))
    ),
    ...OFFICES.flatMap((office) =>
      ["one", "two"].map((name) => churn.agents(name, office))
    ),
  ]);
  await until(async () =>
    (await roomOf(watcher, "watcher", "watched")).join() === "agent watcher"
  );
  await cluster.proved();
  await until(() => Promise.resolve(presentTo(watcher).size === 0));
  const { joins, refusals, calls, killed } = churn;
  console.log(
    `${joins} joins, ${refusals} refused, ${calls} calls answered, ${killed} kills`,
  );
  assert(joins > 20 && calls > 20 && killed > 0);
});

/** Members that come and go, and nodes that are killed, for a while. */
class Churn {
  joins = 0;
  refusals = 0;
  calls = 0;
  killed = 0;
  readonly #cluster: TestCluster;
  readonly #random = seeded(5);
  readonly #over = Date.now() + SECONDS * 1000;

  constructor(cluster: TestCluster) {
    this.#cluster = cluster;
  }

  /** Computers of one name that come, are called, and go in every way. */
  async computers(name: string, office: string): Promise<void> {
    while (!this.#isOver) {
      try {
        await using pc = await joinComputer(this.#any.url, name, office);
        this.joins++;
        await pause(100 + this.#random() * 300);
        if (this.#random() < 0.5) {
          await Promise.race([
            pc.client.request("server:leave_office", { office_id: office }),
            pc.client.disconnected(),
          ]);
        }
      } catch {
        this.refusals++; // its node was killed, or its name is not free yet
        await pause(20);
      }
    }
  }

  /** Agents that want one seat, and call while they have it. */
  async agents(name: string, office: string): Promise<void> {
    while (!this.#isOver) {
      const asked = await askForSeat(this.#any.url, "agent", name, office);
      if ("refusal" in asked) {
        this.refusals++;
        await pause(20);
        continue;
      }
      this.joins++;
      await using agent = asked.client;
      const lost = agent.disconnected().then(() => undefined);
      for (let i = 0; i < 30 && agent.socket.connected; i++) {
        const call = callTool(agent, name, COMPUTERS[i % 3] ?? "");
        if (await Promise.race([call, lost]) !== undefined) this.calls++;
        await pause(10);
      }
    }
  }

  /** Kills nodes other than the first, and restarts Redis in the middle. */
  async kills(): Promise<void> {
    const middle = this.#over - SECONDS * 500;
    let isRestarted = false;
    while (!this.#isOver) {
      await pause(KILL_EVERY_MS);
      if (!isRestarted && Date.now() > middle) {
        isRestarted = true;
        const keepData = this.#random() < 0.5;
        await this.#cluster.redis.restart({ keepData });
        continue;
      }
      const [, ...others] = this.#running;
      await others[Math.floor(this.#random() * others.length)]?.kill();
      this.killed++;
      await this.#cluster.add();
    }
  }

  get #isOver(): boolean {
    return Date.now() >= this.#over;
  }

  get #running(): TestNode[] {
    return this.#cluster.nodes.filter(({ isRunning }) => isRunning);
  }

  get #any(): TestNode {
    const running = this.#running;
    return running[Math.floor(this.#random() * running.length)] ??
      this.#cluster.node(0);
  }
}

/** Returns who is there by the notices; nobody may enter twice, or leave who is not there. */
function presentTo(watcher: RawClient): ReadonlySet<string> {
  const present = new Set<string>();
  for (const [i, text] of comings(watcher).entries()) {
    const [verb, name = ""] = text.split(" ");
    assertEquals(present.has(name), verb === "leave", `notice ${i}: ${text}`);
    if (verb === "enter") present.add(name);
    else present.delete(name);
  }
  return present;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
