/** This package behind `Deno.serve`: the entry for `fetch`, with the limits of the command that is measured. */
import { createFetchServer } from "../../server/fetch/mod.ts";

const smcp = createFetchServer({ limits: { eventsPerSecond: 1_000_000 } });

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.log(`listening on ${port}`),
}, smcp.fetch);
