import process from "node:process";
import type { z } from "zod";
import { carriedBy } from "../wire/mod.ts";
import type { OperatedOffices } from "./operated.ts";
import type { processSchema } from "./schemas.ts";

/** A process as operators of all offices see it. */
export type ProcessView = z.infer<typeof processSchema>;

/** Counts what the process has in all. */
export function processOf(
  logical: readonly OperatedOffices[],
  streams: number,
  draining: boolean,
): ProcessView {
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
