import type { Stage } from "./result.ts";

/** When a call passed the points of one process, in µs of the process's own clock. */
export type Times = Readonly<Record<string, number>>;

/** Returns the parts of a direct call. */
export const directStages = (times: Times): Partial<Record<Stage, number>> => ({
  mcpOut: between(times, "start", "sent"),
  mcpServer: between(times, "sent", "line"),
  mcpIn: between(times, "line", "end"),
});

/**
 * Returns the parts of a call through Agent, Server and Computer.
 *
 * The two clocks are never compared: the time that the Agent waits and the Computer does not spend is
 * that of the Server and the two connections.
 */
export function agentStages(
  agent: Times,
  computer: Times,
): Partial<Record<Stage, number>> {
  return {
    agentOut: between(agent, "start", "written"),
    server: between(agent, "written", "frame") -
      between(computer, "frame", "written"),
    decode: between(computer, "frame", "run"),
    rules: between(computer, "run", "request"),
    mcpOut: between(computer, "request", "sent"),
    mcpServer: between(computer, "sent", "line"),
    mcpIn: between(computer, "line", "answer"),
    answer: between(computer, "answer", "result"),
    limits: between(computer, "result", "ack"),
    encode: between(computer, "ack", "written"),
    agentIn: between(agent, "frame", "end"),
  };
}

function between(times: Times, from: string, to: string): number {
  const start = times[from];
  const end = times[to];
  if (start === undefined || end === undefined) {
    throw new RangeError(
      `Cannot measure from ${from} to ${to}: the call came through ${
        Object.keys(times).join(", ")
      }`,
    );
  }
  return end - start;
}
