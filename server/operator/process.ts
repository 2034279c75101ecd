import process from "node:process";
import type { z } from "zod";
import { carriedBy } from "../wire/mod.ts";
import type { OperatedServer } from "./operated.ts";
import type { processSchema } from "./schemas.ts";

/** A process as operators of all offices see it. */
export type ProcessView = z.infer<typeof processSchema>;

/** Counts what the process has in all. */
export function processOf(
  { sessions, local, stats }: Pick<
    OperatedServer,
    "sessions" | "local" | "stats"
  >,
  streams: number,
  draining: boolean,
): ProcessView {
  const { rss, heapUsed } = process.memoryUsage();
  let queued = 0;
  for (const { socket } of sessions.open.values()) {
    queued += carriedBy(socket.conn)?.queued ?? 0;
  }
  return {
    draining,
    connections: stats().connections,
    calls: local.sentCalls,
    streams,
    queued_bytes: queued,
    memory_bytes: rss,
    heap_bytes: heapUsed,
  };
}
