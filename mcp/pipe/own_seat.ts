import {
  ConnectionError,
  SmcpAgent,
  type SmcpAgentOptions,
} from "../../agent/mod.ts";
import { onAbort, sleep } from "../../shared/async.ts";
import { messageOf } from "../tools/result.ts";

/** Milliseconds between two attempts to take a seat that somebody has. */
const RETRY_MS = 2_000;

/** The office's one seat for an Agent, taken by this process as soon as it is free. */
export type OwnSeat = ReturnType<typeof ownSeat>;

/**
 * @param changed called when the seat was taken, was lost, or cannot be taken for another reason
 * @param reason why there is no Agent until `hold` is called
 */
export function ownSeat(
  options: SmcpAgentOptions,
  office: string,
  changed: () => void,
  reason: string,
) {
  let agent: SmcpAgent | undefined;

  async function sit(joined: SmcpAgent, end: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const lost = (why: string) => reject(new ConnectionError("refused", why));
    onAbort(end, resolve);
    joined.on("rejoinFailed", ({ reason }) => lost(reason));
    joined.on("refused", ({ message }) => lost(message));
    agent = joined;
    changed();
    await promise;
  }

  function explain(error: unknown): void {
    const isTaken = error instanceof ConnectionError &&
      error.code === "refused";
    const why = isTaken
      ? `The office ${JSON.stringify(office)} did not let in this Agent (${
        JSON.stringify(options.name)
      }): ${error.message}. An office has one seat for an Agent: stop the other one, or let it leave the office; this server tries again by itself, and tells when it has tools`
      : messageOf(error);
    if (why === reason && agent === undefined) return;
    agent = undefined;
    reason = why;
    changed();
  }

  return {
    /**
     * Gives the Agent.
     *
     * @throws {Error} saying why there is none
     */
    provide: (): SmcpAgent => {
      if (agent) return agent;
      throw new Error(reason);
    },
    /** Says in a line how it stands. */
    state: (): string =>
      agent ? `has the seat of the office ${JSON.stringify(office)}` : reason,
    /** Holds the seat until the end, and tries again while it cannot. */
    async hold(end: AbortSignal): Promise<void> {
      while (!end.aborted) {
        const next = new SmcpAgent(options);
        try {
          await next.connect();
          await next.join(office);
          if (!end.aborted) await sit(next, end);
        } catch (error) {
          explain(error);
        }
        agent = undefined;
        await next.close();
        await sleep(RETRY_MS, end).catch(() => {});
      }
    },
  };
}
