/**
 * Measures how long a neighbour waits: a call in another office, while a member of one sends the worst
 * payloads that are let in, event by event. Server, neighbours and attackers are processes of their own.
 *
 * @module
 */
import { dirname, resolve } from "node:path";
import { type Recipe, type Running, start } from "../contestants/running.ts";
import { limitedServer } from "../contestants/mod.ts";
import { temporaryFolder } from "../leftovers.ts";
import type { Attack, Attacked } from "./attacker.ts";
import { type Bound, boundOf, WHOLE_MESSAGE } from "./bounds.ts";
import type { NeighbourQuestion, Waits } from "./neighbour.ts";
import { Helper, memoryOf, pause, resetPeak } from "./processes.ts";
import { progressOf } from "./render.ts";
import {
  type AttackResult,
  type NeighbourRow,
  type NeighboursResult,
  quietOf,
  type Times,
  timesOf,
} from "./result.ts";
import { allRows, quickly, type Row, rowsLike, type Variant } from "./rows.ts";

/** How to measure. */
export interface NeighboursPlan {
  /** Only proves that it runs. */
  readonly quick: boolean;
  /** A regular expression for the titles of rows; default all, or some when quick. */
  readonly rows?: string;
  /** Path of the `server/main.ts` of another checkout. */
  readonly server?: string;
  /** Reports progress. */
  tell(line: string): void;
}

/** One row of each kind. */
const QUICK_ROWS = "^(client:tool_call request|server:update_config|" +
  "client:get_tools answer, 0.2.*|30 server:join_office.*|.mcp lists tools whose.*)$";
const QUICK_BYTES = 100_000;

/** How long the neighbour is measured without an attack, before each of them and after the last. */
const QUIET_MS = 200;
const QUICK_QUIET_MS = 30;

/** Calls that do not count, of a new Server. */
const WARM_UP_MS = 1200;
const SETTLE_MS = 100;

/** A Server that holds more after an attack is replaced before the next row. */
const MOST_HELD_BYTES = 800 * 2 ** 20;

/** Measures all rows. @throws {Error} when there is no such Server or row */
export async function measureNeighbours(
  plan: NeighboursPlan,
): Promise<NeighboursResult> {
  const { quick, tell } = plan;
  const chosen = rowsLike(allRows(), plan.rows ?? (quick ? QUICK_ROWS : ""));
  if (chosen.length === 0) throw new Error(`No row is like ${plan.rows}`);
  const folder = temporaryFolder();
  const rows: NeighbourRow[] = [];
  let scene: Scene | undefined;
  try {
    for (const row of chosen) {
      if (scene && await scene.isWorn()) {
        await scene[Symbol.asyncDispose]();
        scene = undefined;
      }
      scene ??= await Scene.open(plan, folder);
      const measured = await scene.measure(quick ? quickly(row) : row, tell);
      rows.push(measured);
    }
  } finally {
    await scene?.[Symbol.asyncDispose]();
  }
  return { rows };
}

/** How to start a Server; its limits are a part of what is measured. */
const recipeOf = (server: string | undefined): Recipe => ({
  ...limitedServer("neighbours", ["--mcp", "--protocol=0.2,0.4"]),
  ...(server !== undefined && { cwd: dirname(dirname(resolve(server))) }),
});

/** A Server with two offices: that of the neighbours, and that of the attackers. */
class Scene implements AsyncDisposable {
  readonly #server: Running;
  readonly #agent: Helper;
  readonly #attacker: Helper;
  readonly #health: unknown;
  readonly #quick: boolean;
  readonly #stack: AsyncDisposableStack;
  #isBroken = false;

  private constructor(
    parts: {
      readonly server: Running;
      readonly agent: Helper;
      readonly attacker: Helper;
      readonly health: unknown;
    },
    quick: boolean,
    stack: AsyncDisposableStack,
  ) {
    this.#server = parts.server;
    this.#agent = parts.agent;
    this.#attacker = parts.attacker;
    this.#health = parts.health;
    this.#quick = quick;
    this.#stack = stack;
  }

  static async open(
    { server: path, quick }: NeighboursPlan,
    folder: string,
  ): Promise<Scene> {
    await using stack = new AsyncDisposableStack();
    const server = stack.use(await start(recipeOf(path), folder));
    const { port } = server;
    const computer = stack.use(
      new Helper("neighbour.ts", ["computer", String(port)]),
    );
    await computer.ask("begin");
    const agent = stack.use(
      new Helper("neighbour.ts", ["agent", String(port)]),
    );
    const attacker = stack.use(new Helper("attacker.ts", [String(port)], 10));
    await agent.ask("begin");
    await pause(quick ? SETTLE_MS : WARM_UP_MS);
    const response = await fetch(`http://127.0.0.1:${port}/health`);
    const health = await response.json();
    return new Scene({ server, agent, attacker, health }, quick, stack.move());
  }

  /** Whether it must be replaced: a process of it has ended, or the Server holds much memory. */
  async isWorn(): Promise<boolean> {
    if (this.#isBroken) return true;
    return (await memoryOf(this.#server.pid)).now > MOST_HELD_BYTES;
  }

  /** Measures a row; never throws. */
  async measure(
    row: Row,
    tell: (line: string) => void,
  ): Promise<NeighbourRow> {
    const quiet: Times[] = [];
    const attacks: AttackResult[] = [];
    let ended: string | undefined;
    try {
      for (const { variant, size, bound } of this.#trials(row)) {
        const { variants: _, title: __, ...sent } = row;
        const attack: Attack = { row: sent, variant, bound };
        await this.#attacker.ask(attack);
        await pause(SETTLE_MS);
        const before = await this.#quiet();
        quiet.push(before);
        const result = await this.#attack(attack, size);
        attacks.push(result);
        tell(progressOf(row.title, before.p99, result));
      }
      await pause(SETTLE_MS);
      quiet.push(await this.#quiet());
    } catch (error) {
      this.#isBroken = true;
      ended = `${error instanceof Error ? error.message : error}: ${
        this.#server.log().slice(-300)
      }`;
      tell(`${row.title}: ${ended}`);
    }
    return {
      title: row.title,
      pace: row.pace,
      quiet: quietOf(quiet),
      attacks,
      ...(ended !== undefined && { ended }),
    };
  }

  /** Every variant at the event's bound, and where that is less than a message, two in a whole one. */
  #trials(row: Row) {
    const { event, part, variants } = row;
    const stated = boundOf(this.#health, { event, part });
    const shorten = (bound: Bound): Bound =>
      this.#quick
        ? { ...bound, bytes: Math.min(bound.bytes, QUICK_BYTES) }
        : bound;
    const all = variants.map((variant) => ({
      variant,
      size: "bound" as const,
      bound: shorten(stated),
    }));
    const isLess = stated.bytes < WHOLE_MESSAGE.bytes ||
      stated.values !== undefined;
    if (!isLess) return all;
    return [
      ...all,
      ...variants.filter(isBeyond).map((variant) => ({
        variant,
        size: "message" as const,
        bound: shorten(WHOLE_MESSAGE),
      })),
    ];
  }

  async #quiet(): Promise<Times> {
    await this.#askAgent("begin");
    await pause(this.#quick ? QUICK_QUIET_MS : QUIET_MS);
    const { ms, failed } = await this.#askAgent("end");
    if (failed === ms.length) throw new Error("The neighbour was cut off");
    return timesOf(ms);
  }

  async #attack(
    attack: Attack,
    size: AttackResult["size"],
  ): Promise<AttackResult> {
    const { pid } = this.#server;
    await resetPeak(pid);
    const { now: before } = await memoryOf(pid);
    await this.#askAgent("begin");
    const attacked = await this.#attacker.ask<Attacked>("go");
    const { ms, failed } = await this.#askAgent("end");
    const { peak, now: after } = await memoryOf(pid);
    return {
      ...attack.variant,
      ...attacked,
      size,
      bound: attack.bound,
      times: timesOf(ms),
      failed,
      memory: { before, peak, after },
    };
  }

  #askAgent(question: NeighbourQuestion): Promise<Waits> {
    return this.#agent.ask<Waits>(question);
  }

  /** Ends all of it. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** Whether a shape is tried beyond the bound, too: those that are refused by their values, and by bytes alone. */
const isBeyond = ({ shape, field }: Variant): boolean =>
  field.startsWith("x_") ? shape === "objects" || shape === "text" : false;
