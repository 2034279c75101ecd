import { assertEquals } from "@std/assert";
import {
  failuresAfterLoss,
  RESTART_POLICY,
} from "../../../../computer/host/hosted_server.ts";
import { backoff } from "../../../../client/wire.ts";

Deno.test("restarts of an MCP server wait twice as long each time up to a limit, with 50 % jitter", () => {
  const delays = (random: number) =>
    [0, 1, 2, 3, 40].map((n) => backoff(n, random, RESTART_POLICY));
  assertEquals(delays(0.5), [100, 200, 400, 800, 60_000]);
  assertEquals(delays(0), [50, 100, 200, 400, 30_000]);
  assertEquals(delays(1), [150, 300, 600, 1_200, 90_000]);
});

Deno.test("failuresAfterLoss() forgets earlier failures once a server ran long enough", () => {
  assertEquals(failuresAfterLoss(5, 9_999, RESTART_POLICY), 5);
  assertEquals(failuresAfterLoss(5, 10_000, RESTART_POLICY), 0);
});
