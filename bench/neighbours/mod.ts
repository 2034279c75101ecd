/**
 * Measures how long a neighbour waits: a call in another office, while a member of one sends the worst
 * payloads that are let in, event by event. The Server and the attackers are processes of their own.
 *
 * @module
 */
import { resolve } from "node:path";
import { type Recipe, type Running, start } from "../contestants/start.ts";
import type { Plan } from "../cases.ts";
import { limitedServer } from "../contestants/mod.ts";
import { memoryOf, pause, resetPeak, temporaryFolder } from "../processes.ts";
import type { Attack, Attacked } from "./attacker.ts";
import { Neighbour } from "./neighbour.ts";
import { Helper } from "./helper.ts";
import {
  type AttackResult,
  type NeighbourRow,
  type NeighboursResult,
  progressOf,
  quietOf,
  type Times,
} from "./result.ts";
import {
  allRows,
  quickly,
  type Row,
  type Variant,
  WHOLE_MESSAGE,
} from "./rows.ts";
import type { Bound } from "./shapes.ts";

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

/** Measures all rows. @throws {Error} when there is no such Server or row */
export async function measureNeighbours(
  plan: Plan,
  tell: (line: string) => void,
): Promise<NeighboursResult> {
  const { quick, only = quick ? QUICK_ROWS : "" } = plan;
  const like = new RegExp(only, "i");
  const chosen = allRows().filter(({ title }) => like.test(title));
  if (chosen.length === 0) throw new Error(`No row is like ${only}`);
  const folder = temporaryFolder();
  const rows: NeighbourRow[] = [];
  let scene: Scene | undefined;
  try {
    for (const row of chosen) {
      if (scene?.isBroken) {
        await scene[Symbol.asyncDispose]();
        scene = undefined;
      }
      scene ??= await Scene.open(plan, folder);
      rows.push(await scene.measure(quick ? quickly(row) : row, tell));
    }
  } finally {
    await scene?.[Symbol.asyncDispose]();
  }
  return { rows };
}

/** The bounds that a Server states at `/health`; one that states none lets in what fits in a message. */
interface Health {
  readonly limits?: {
    readonly events?: Readonly<
      Record<string, Partial<Readonly<Record<"request" | "answer", Bound>>>>
    >;
  };
}

/** How to start a Server; its limits are a part of what is measured. */
const recipeOf = (checkout: string | undefined): Recipe => ({
  ...limitedServer("neighbours", ["--mcp", "--protocol=0.2,0.4"]),
  ...(checkout !== undefined && { cwd: resolve(checkout) }),
});

/** A Server with two offices: that of the neighbours, and that of the attackers. */
class Scene implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  readonly #server: Running;
  readonly #neighbour: Neighbour;
  readonly #attacker: Helper;
  readonly #health: Health;
  readonly #quick: boolean;
  /** Whether a process of it has ended, so that it must be replaced. */
  isBroken = false;

  private constructor(
    server: Running,
    neighbour: Neighbour,
    { health, quick }: { readonly health: Health; readonly quick: boolean },
  ) {
    this.#server = this.#stack.use(server);
    this.#neighbour = this.#stack.use(neighbour);
    const { port } = server;
    this.#attacker = this.#stack.use(
      new Helper("attacker.ts", [String(port)]),
    );
    this.#health = health;
    this.#quick = quick;
  }

  static async open(
    { checkout, quick }: Plan,
    folder: string,
  ): Promise<Scene> {
    const server = await start(recipeOf(checkout), folder);
    const neighbour = await Neighbour.open(server.port);
    await pause(quick ? SETTLE_MS : WARM_UP_MS);
    const response = await fetch(`http://127.0.0.1:${server.port}/health`);
    const health = await response.json();
    return new Scene(server, neighbour, { health, quick });
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
      for (const trial of this.#trials(row)) {
        const { variants: _, title: __, ...sent } = row;
        const attack: Attack = { row: sent, ...trial };
        await this.#attacker.ask(attack);
        await pause(SETTLE_MS);
        const before = await this.#quiet();
        quiet.push(before);
        const result = await this.#attack(attack);
        attacks.push(result);
        tell(progressOf(row.title, before.p99, result));
      }
      await pause(SETTLE_MS);
      quiet.push(await this.#quiet());
    } catch (error) {
      this.isBroken = true;
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
  #trials({ event, part, variants }: Row) {
    const of = this.#health.limits?.events?.[event];
    const stated = part === "answer" ? of?.answer : of?.request;
    const beyond = stated === undefined ? [] : variants.filter(isBeyond);
    const most = this.#quick ? QUICK_BYTES : WHOLE_MESSAGE.bytes;
    const trial = (variant: Variant, bound: Bound) => ({
      variant,
      bound: { ...bound, bytes: Math.min(bound.bytes, most) },
    });
    return [
      ...variants.map((each) => trial(each, stated ?? WHOLE_MESSAGE)),
      ...beyond.map((each) => trial(each, WHOLE_MESSAGE)),
    ];
  }

  async #quiet(): Promise<Times> {
    const ms = this.#quick ? QUICK_QUIET_MS : QUIET_MS;
    const { times, failed } = await this.#neighbour.during(() => pause(ms));
    if (failed === times.calls) throw new Error("The neighbour was cut off");
    return times;
  }

  async #attack({ variant, bound }: Attack): Promise<AttackResult> {
    const { pid } = this.#server;
    await resetPeak(pid);
    const { now: before } = await memoryOf(pid);
    const { ran, times, failed } = await this.#neighbour.during(() =>
      this.#attacker.ask<Attacked>("go")
    );
    const memory = { before, ...await memoryOf(pid) };
    return { ...variant, ...ran, bound, times, failed, memory };
  }

  /** Ends all of it. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** Whether a shape is tried beyond the bound, too: those that are refused by their values, and by bytes alone. */
const isBeyond = ({ shape, field }: Variant): boolean =>
  field.startsWith("x_") && (shape === "objects" || shape === "text");
