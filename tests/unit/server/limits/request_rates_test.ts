import { assert, assertEquals } from "@std/assert";
import { RequestRates } from "../../../../server/limits/limits.ts";

Deno.test("RequestRates.take() limits the requests of a client per second, and of no other", () => {
  const rates = new RequestRates({ eventsPerSecond: 2, callsPerAgent: 9 });
  const take = (client: string, now: number) => typeof rates.take(client, now);
  assertEquals([take("a", 0), take("a", 0)], ["function", "function"]);
  assertEquals(rates.take("a", 0), "eventsPerSecond");
  assertEquals(take("b", 0), "function");
  assertEquals(take("a", 500), "function");
});

Deno.test("RequestRates.take() limits how many are open at once, until they end", () => {
  const rates = new RequestRates({ eventsPerSecond: 99, callsPerAgent: 2 });
  const end = rates.take("a", 0);
  rates.take("a", 0);
  assertEquals(rates.take("a", 0), "callsPerAgent");
  assert(typeof end === "function");
  end();
  assertEquals(typeof rates.take("a", 0), "function");
});

Deno.test("RequestRates forgets clients that have nothing open and a full allowance", () => {
  const rates = new RequestRates({ eventsPerSecond: 9, callsPerAgent: 9 });
  for (let at = 0; at < 1000; at++) {
    const end = rates.take(`${at}`, 0);
    if (typeof end === "function" && at > 0) end();
  }
  assertEquals(rates.size, 1000);
  rates.take("new", 1000);
  assertEquals(rates.size, 2); // it, and the one that is still open
});
