/**
 * Measures what those who look on cost: three Servers of one run get the same calls in turn. One has
 * no operator API, one has it and nobody looks on, and one has so many streams of events open.
 *
 * @module
 */
import { ourServer } from "../contestants/mod.ts";
import { type Running, start } from "../contestants/running.ts";
import { temporaryFolder } from "../leftovers.ts";
import { payloadOf } from "../payloads.ts";
import { type Spread, spreadOf } from "../statistics.ts";
import { makeTools } from "../tools.ts";
import { openStreams } from "./streams.ts";

/** How it is measured. */
export interface OperatorPlan {
  /** Calls per second. */
  readonly rate: number;
  /** Open streams of events. */
  readonly streams: number;
  /** Rounds of all three, after one that does not count. */
  readonly rounds: number;
  /** Seconds of each, after as many of warm-up. */
  readonly seconds: number;
}

/** What the Servers used, in hundredths of one core. */
export interface OperatorResult {
  readonly plan: OperatorPlan;
  /** Without the API. */
  readonly without: Spread;
  /** What the API adds with nobody looking on, of each round. */
  readonly closed: Spread;
  /** What the open streams add to that. */
  readonly open: Spread;
  /** Megabytes per second of one stream. */
  readonly megabytes: number;
  /** Events of one stream for each call. */
  readonly events: number;
}

/** Pairs of an Agent and a Computer. */
const PAIRS = 50;

/** Measures it; needs a C compiler. */
export async function measureOperator(
  plan: OperatorPlan,
): Promise<OperatorResult> {
  const { rate, seconds } = plan;
  const tools = await makeTools();
  const folder = temporaryFolder();
  const files = await tools.messages.filesOf(payloadOf("100"), 10);
  await using stack = new AsyncDisposableStack();
  const run = async (name: string, args: readonly string[] = []) =>
    stack.use(await start(ourServer(name, args), folder));
  const without = await run("without", ["--no-operator"]);
  const closed = await run("closed");
  const open = await run("open");
  const streams = stack.use(
    await openStreams(
      `http://127.0.0.1:${open.port}`,
      tokenOf(open),
      plan.streams,
    ),
  );
  const percent = async (server: Running) => {
    const used = await tools.generator.run("calls", server, {
      ...files,

      pairs: PAIRS,
      inflight: 1,
      rotate: 1,
      rate,

      warmup: seconds,
      seconds,
      open_timeout: 60,
    });
    const share = 100 * used.serverCpuSeconds / used.seconds;
    tools.tell(
      `${server.name}: ${share.toFixed(1)} % of a core, ${
        (used.calls / used.seconds).toFixed(0)
      } calls/s`,
    );
    return { share, calls: used.calls };
  };
  const rounds: Record<"without" | "closed" | "open", number>[] = [];
  let read = { bytes: 0, events: 0 };
  let calls = 0;
  let took = 0;
  for (let round = 0; round <= plan.rounds; round++) {
    const quiet = await percent(without);
    const unseen = await percent(closed);
    const before = streams.read();
    const began = performance.now();
    const seen = await percent(open);
    if (round === 0) continue;
    const after = streams.read();
    read = {
      bytes: read.bytes + after.bytes - before.bytes,
      events: read.events + after.events - before.events,
    };
    took += performance.now() - began;
    calls += seen.calls * 2; // of the warm-up, too
    rounds.push({
      without: quiet.share,
      closed: unseen.share,
      open: seen.share,
    });
  }
  return {
    plan,
    without: spreadOf(rounds.map(({ without }) => without)),
    closed: spreadOf(rounds.map(({ closed, without }) => closed - without)),
    open: spreadOf(rounds.map(({ open, closed }) => open - closed)),
    megabytes: read.bytes / took / 1000,
    events: read.events / calls,
  };
}

/** Reads the token that a Server printed. */
function tokenOf(server: Running): string {
  const [token] = / token ([0-9a-f]{64})/.exec(server.log())?.slice(1) ?? [];
  if (token === undefined) throw new Error("The Server printed no token");
  return token;
}
