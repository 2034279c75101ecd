import type { RawClient } from "../../wire/raw_client.ts";
import { type Answer, askForSeat, callTool } from "./members.ts";

/** What became of a call. */
export interface Told {
  /** `ok`, or the code of the error. */
  readonly outcome: "ok" | number;
  readonly ms: number;
  readonly answer: Answer;
}

/** Calls that follow each other while something else happens. */
export interface Traffic {
  /** The answers so far. */
  readonly told: readonly Told[];
  /** Resolves with the next answer that fits. */
  next(fits: (told: Told) => boolean): Promise<Told>;
  /** Ends it; resolves when the last call is answered. */
  stop(): Promise<readonly Told[]>;
}

/** Calls a Computer again and again, one call after the other. */
export function startTraffic(
  agent: RawClient,
  name: string,
  computer: string,
): Traffic {
  const told: Told[] = [];
  const waiting = new Set<() => void>();
  let isOver = false;
  const run = async () => {
    while (!isOver && agent.socket.connected) {
      const began = performance.now();
      // An Agent that is disconnected never hears.
      const answer = await Promise.race([
        callTool(agent, name, computer),
        agent.disconnected().then(() => undefined),
      ]);
      if (answer === undefined) return;
      const ms = performance.now() - began;
      told.push({ outcome: answer.code ?? "ok", ms, answer });
      for (const wake of [...waiting]) wake();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const running = run();
  return {
    told,
    next: (fits) =>
      new Promise((resolve) => {
        const wake = () => {
          const last = told.at(-1);
          if (!last || !fits(last)) return;
          waiting.delete(wake);
          resolve(last);
        };
        waiting.add(wake);
      }),
    stop: async () => {
      isOver = true;
      await running;
      return told;
    },
  };
}

/** Somebody who wants a seat that another has, all the while. */
export interface Stranger {
  /** Why it was refused so far. */
  readonly refusals: readonly string[];
  /** Ends it; rejects when it got the seat. */
  stop(): Promise<void>;
}

/** Asks for the Agent's seat of an office again and again, which must never be given. */
export function startStranger(url: () => string, office: string): Stranger {
  const refusals: string[] = [];
  let isOver = false;
  let isSeated = false;
  const run = async () => {
    while (!isOver) {
      const asked = await askForSeat(url(), "agent", "stranger", office);
      if ("refusal" in asked) refusals.push(asked.refusal);
      else {
        isSeated = true;
        await asked.client[Symbol.asyncDispose]();
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const running = run();
  return {
    refusals,
    stop: async () => {
      isOver = true;
      await running;
      if (isSeated) throw new Error(`A stranger got the seat of "${office}"`);
    },
  };
}
