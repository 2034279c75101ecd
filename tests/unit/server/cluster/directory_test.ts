import fc from "fast-check";
import { assert, assertEquals } from "@std/assert";
import {
  type Instant,
  Lease,
  LEASE_MS,
} from "../../../../server/cluster/directory.ts";

const leaseMs = LEASE_MS;
const beatMs = LEASE_MS / 4;

const at = (steady: number, wall = steady): Instant => ({ steady, wall });

Deno.test("Lease: a node serves after its first beat, until a second before the lease ends", () => {
  const lease = new Lease();
  assertEquals(lease.state(at(0)), "over");
  lease.renewed(at(100));
  assertEquals(lease.state(at(100)), "valid");
  assertEquals(lease.state(at(100 + leaseMs - 1001)), "valid");
  assertEquals(lease.state(at(100 + leaseMs - 1000)), "over");
});

Deno.test("Lease: it is counted from before the beat was sent, not from its answer", () => {
  const lease = new Lease();
  lease.renewed(at(0));
  // The answer came after 900 ms; Redis may have renewed the lease at once.
  assertEquals(lease.untilOver(at(900)), leaseMs - 1000 - 900);
});

Deno.test("Lease: a failed beat changes nothing but when the next one is sent", () => {
  const lease = new Lease();
  lease.renewed(at(0));
  assertEquals(lease.untilBeat(at(0)), beatMs);
  lease.failed(at(4000));
  assertEquals(lease.untilBeat(at(4000)), 500);
  assertEquals(lease.untilOver(at(4000)), leaseMs - 1000 - 4000);
});

Deno.test("Lease: the first beat is due at once, and none after the end", () => {
  const lease = new Lease();
  assertEquals(lease.untilBeat(at(5)), 0);
  lease.renewed(at(5));
  lease.end();
  assertEquals(lease.state(at(6)), "over");
  assertEquals(lease.untilOver(at(6)), 0);
  assertEquals(lease.untilBeat(at(6)), Infinity);
});

Deno.test("Lease: a process that was frozen is over when it wakes, before any of its timers", () => {
  const lease = new Lease();
  lease.renewed(at(0));
  assertEquals(lease.state(at(30_000)), "over");
  assertEquals(lease.untilBeat(at(30_000)), 0);
});

Deno.test("Lease: a machine that slept is in doubt until a beat was answered", () => {
  const lease = new Lease();
  lease.renewed(at(0, 1_000_000));
  const awake = at(500, 1_060_000);
  assertEquals(lease.state(awake), "doubtful");
  assertEquals(lease.untilBeat(awake), 0);
  lease.renewed(awake);
  assertEquals(lease.state(at(600, 1_060_100)), "valid");
});

Deno.test("Lease: a clock that was set does not end it, nor make it longer", () => {
  const lease = new Lease();
  lease.renewed(at(0, 1_000_000));
  assertEquals(lease.state(at(100, 5_000_000)), "doubtful");
  assertEquals(lease.state(at(100, 0)), "valid");
  assertEquals(lease.state(at(leaseMs, 0)), "over");
});

Deno.test("Lease: no node serves while Redis may give its seats away, whatever is late, lost, frozen or set", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("pass"), ms: fc.nat(20_000) }),
    fc.record({
      kind: fc.constant("set"),
      ms: fc.integer({ min: -1e6, max: 1e6 }),
    }),
    fc.record({
      kind: fc.constantFrom("answered", "lost", "never sent"),
      ms: fc.nat(5000),
    }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const lease = new Lease();
      let steady = 0;
      let offset = 1e12;
      // When Redis lets others have the seats, by a clock that goes as the steady one.
      let expires = -Infinity;
      const read = () => at(steady, steady + offset);
      for (const { kind, ms } of steps) {
        if (kind === "pass") steady += ms;
        else if (kind === "set") offset += ms;
        else {
          const sent = read();
          // It arrives somewhere on the way.
          steady += Math.floor(ms / 2);
          // Redis renews no lease that has ended; the first one it gives.
          const renews = kind !== "never sent" &&
            (expires === -Infinity || expires > steady);
          if (renews) expires = steady + leaseMs;
          steady += Math.ceil(ms / 2);
          if (renews && kind === "answered") lease.renewed(sent);
          else lease.failed(read());
        }
        if (lease.state(read()) !== "over") assert(steady < expires - 999);
      }
    }),
    { numRuns: 2000 },
  );
});
