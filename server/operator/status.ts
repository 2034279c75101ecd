import process from "node:process";
import type { z } from "zod";
import { seesAll } from "../auth/policy.ts";
import { carriedBy } from "../wire/mod.ts";
import type { OperatedOffices, Operator } from "./operated.ts";
import type { statusSchema } from "./schemas.ts";
import type { OfficeView } from "./views.ts";

/** The parts of a server that {@linkcode statusOf} reads. */
export interface StatusParts {
  /** The offices of each protocol version, oldest first. */
  readonly logical: readonly OperatedOffices[];
  /** The version of this package. */
  readonly version: string;
  /** When the Server was made, in milliseconds since 1970. */
  readonly since: number;
  /** Whether it is shutting down. */
  draining(): boolean;
}

/**
 * Counts what an operator sees; what the process has in all is for operators of all offices alone,
 * since it tells of the others.
 */
export function statusOf(
  { policy }: Operator,
  offices: readonly OfficeView[],
  streams: number,
  { logical, version, since, draining }: StatusParts,
): Omit<z.infer<typeof statusSchema>, "node"> {
  const sum = (of: (office: OfficeView) => number) =>
    offices.reduce((all, office) => all + of(office), 0);
  return {
    version,
    protocols: logical.map(({ protocol }) => protocol),
    since: new Date(since).toISOString(),
    offices: offices.length,
    members: sum(({ agent, computers }) =>
      computers + (agent === null ? 0 : 1)
    ),
    pending_calls: sum(({ pending_calls }) => pending_calls),
    ...(seesAll(policy) &&
      { process: processOf(logical, streams, draining()) }),
  };
}

function processOf(
  logical: readonly OperatedOffices[],
  streams: number,
  draining: boolean,
): NonNullable<z.infer<typeof statusSchema>["process"]> {
  const { rss, heapUsed } = process.memoryUsage();
  const sessions = logical.flatMap(({ sessions }) => [...sessions.open()]);
  return {
    draining,
    connections: sessions.length,
    calls: logical.reduce((all, { sessions }) => all + sessions.calls, 0),
    streams,
    queued_bytes: sessions.reduce(
      (all, { socket }) => all + (carriedBy(socket.conn)?.queued ?? 0),
      0,
    ),
    memory_bytes: rss,
    heap_bytes: heapUsed,
  };
}
