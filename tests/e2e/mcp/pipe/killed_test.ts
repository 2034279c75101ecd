import { assertEquals } from "@std/assert";
import { ConnectionError } from "../../../../agent/mod.ts";
import { mcpGateway } from "../../../../mcp/mod.ts";
import { startComputer } from "../../../support/computer/computer.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { isCancelled } from "../../../support/mcp/cancelled.ts";
import { CLIENTS } from "../../../support/mcp/clients.ts";
import { pipeCommand } from "../../../support/mcp/pipe.ts";
import { OFFICE } from "../../../support/office.ts";
import { hurryTimers, watchTimers } from "../../../support/timers.ts";

/** Times that no other part waits for. */
const [ABANDONED_MS, SEAT_IDLE_MS] = [54_321, 54_322];

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}, smcp-agent mcp: killed during a call: the call is cancelled at the Computer, and the seat given up`, async () => {
    await using running = await startComputer({ fix: fixture() }, {}, {
      server: {
        gateway: mcpGateway({
          abandonedMs: ABANDONED_MS,
          seatIdleMs: SEAT_IDLE_MS,
        }),
      },
    });
    const { agent, url } = running.office;
    await agent.leave();
    const { promise: started, resolve } = Promise.withResolvers<
      (name: "SIGKILL") => void
    >();
    await using client = await connect({
      ...pipeCommand(url),
      started: resolve,
    });
    const slow = client.call("pc__slow").catch((error) => String(error));
    await client.call("pc__slow_began");
    const idle = Promise.withResolvers<void>();
    using _hurried = hurryTimers(ABANDONED_MS, SEAT_IDLE_MS);
    using _watched = watchTimers((delay) => {
      if (delay === SEAT_IDLE_MS) idle.resolve();
    });
    (await started)("SIGKILL");
    await slow;
    while (agent.office === undefined) {
      try {
        await agent.join(OFFICE);
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        assertEquals(error.code, "refused");
      }
    }
    await isCancelled(agent.callTool("pc", "slow_aborted"));
    await idle.promise; // the end of the client's stream may be found out later than that of its call
  });
}
