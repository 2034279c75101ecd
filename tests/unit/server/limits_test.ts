import { assertEquals, assertThrows } from "@std/assert";
import { Limiter, LogThrottle } from "../../../server/limits/limiter.ts";
import {
  addressGroup,
  clientAddress,
  DEFAULT_LIMITS,
  overLimit,
  type RequestKind,
  RequestRates,
  resolveLimits,
} from "../../../server/limits/limits.ts";
import { Tries } from "../../../server/limits/tries.ts";
import {
  AddressCount,
  DescriptorBudget,
  readOpenFiles,
  SocketSlots,
  socketsWithin,
} from "../../../server/limits/slots.ts";
import { eventEnd } from "../../../server/observe/watch_calls.ts";
import { TokenBucket } from "../../../shared/async.ts";
import { Payload } from "../../../server/wire/mod.ts";
import { captureLog } from "../../support/log_capture.ts";
import { TestDate } from "../../support/server/sign_in.ts";

Deno.test("resolveLimits() fills in the defaults of the spec (protocol §10)", () => {
  assertEquals(resolveLimits(), {
    connectionsPerAddress: 100,
    sockets: Infinity, // the process's descriptors bound them
    socketsPerAddress: 400,
    eventsPerSecond: 1000,
    callsPerAgent: 1000,
    membersPerOffice: 1000,
    queuedBytes: 33554432,
    unfinishedBytes: 134217728,
  });
  const sockets = (...args: Parameters<typeof resolveLimits>) =>
    resolveLimits(...args).socketsPerAddress;
  assertEquals(
    [
      sockets({ connectionsPerAddress: 7 }),
      sockets({ connectionsPerAddress: 1000 }),
      sockets({}, true),
      sockets({ socketsPerAddress: 9 }, true),
    ],
    [400, 4000, 1400, 9],
  );
  const { eventsPerSecond, callsPerAgent } = resolveLimits({
    eventsPerSecond: 7,
  });
  assertEquals([eventsPerSecond, callsPerAgent], [7, 1000]);
});

Deno.test("resolveLimits() removes all limits for false, and refuses a limit below 1 by name", () => {
  const values = new Set(Object.values(resolveLimits(false)));
  assertEquals([...values], [Infinity]);
  for (const value of [0, -1, 0.5, NaN]) {
    assertThrows(
      () => resolveLimits({ callsPerAgent: value }),
      RangeError,
      `Cannot limit callsPerAgent: expected a number from 1, current value is ${value}`,
    );
  }
});

Deno.test("overLimit() is a flat 429 that names the limit and its value", () => {
  assertEquals(overLimit(DEFAULT_LIMITS, "eventsPerSecond").toPayload(), {
    code: 429,
    message: "Too many events: at most 1000 per second, send more slowly",
    limit: "events_per_second",
    max: 1000,
    details: { ran: false, retry_in_ms: 1 },
  });
  const calls = overLimit(
    { ...DEFAULT_LIMITS, callsPerAgent: 3 },
    "callsPerAgent",
  );
  assertEquals(calls.toPayload(), {
    code: 429,
    message: "Too many calls: at most 3 may wait for their answers at once",
    limit: "calls_per_agent",
    max: 3,
    details: { ran: false, retry_in_ms: 100 },
  });
});

Deno.test("TokenBucket.take() allows a burst of one second, then the rate", () => {
  // Each row: seconds since the one before, how many were asked for, how many were allowed.
  const rows = [
    [0, 12, 10],
    [0, 1, 0],
    [0.1, 3, 1],
    [0.05, 1, 0],
    [0.05, 1, 1],
    [0.5, 9, 5],
    [60, 99, 10],
  ] as const;
  let now = 5000;
  const bucket = new TokenBucket(10, now);
  for (const [seconds, asked, allowed] of rows) {
    now += seconds * 1000;
    const taken = Array.from({ length: asked }, () => bucket.take(now));
    assertEquals(taken.filter((ok) => ok).length, allowed, `at ${now} ms`);
  }
  const unlimited = new TokenBucket(Infinity, 0);
  for (let i = 0; i < 1000; i++) assertEquals(unlimited.take(0), true);
});

Deno.test("clientAddress() trusts as many entries of X-Forwarded-For as there are proxies", () => {
  const header = "6.6.6.6, 10.0.0.1, 10.0.0.2";
  const peer = "1.2.3.4";
  const rows = [
    // Without a proxy, the header is the client's own.
    [peer, header, 0, peer],
    [peer, undefined, 1, peer],
    [peer, header, 1, "10.0.0.2"],
    [peer, header, 2, "10.0.0.1"],
    [peer, header, 3, "6.6.6.6"],
    [peer, header, 9, "6.6.6.6"],
    [peer, "", 1, peer],
    [peer, "unknown", 1, peer],
    [peer, "a, , <b>", 1, peer],
    [peer, "9.9.9.9:5678", 1, "9.9.9.9"],
    [peer, "[2001:db8::1]:443", 1, "2001:db8::1"],
    [peer, "[2001:db8::1]", 1, "2001:db8::1"],
    [peer, "2001:db8::1", 1, "2001:db8::1"],
    [peer, "::ffff:9.9.9.9", 1, "9.9.9.9"],
    ["::ffff:127.0.0.1", undefined, 0, "127.0.0.1"],
    ["::1", undefined, 0, "::1"],
    ["", undefined, 0, ""],
  ] as const;
  for (const [peer, forwarded, proxies, expected] of rows) {
    const found = clientAddress(peer, forwarded, proxies);
    assertEquals(found, expected, `${peer} / ${forwarded} / ${proxies}`);
  }
});

Deno.test("addressGroup() returns the /64 of an IPv6 address, and an IPv4 address unchanged", () => {
  const rows = [
    ["1.2.3.4", "1.2.3.4"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002::", "2001:db8:1:2::/64"],
    ["2001:db8::6", "2001:db8:0:0::/64"],
    ["2001:db8::1:2:3:4:5", "2001:db8:0:1::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["64:ff9b::1.2.3.4", "64:ff9b:0:0::/64"],
    ["1:2:3:4:5:6:1.2.3.4", "1:2:3:4::/64"],
    ["1:2:3::4:5:1.2.3.4", "1:2:3:0::/64"],
    ["unknown", "unknown"],
    ["", ""],
  ] as const;
  for (const [address, group] of rows) {
    assertEquals(addressGroup(address), group, address);
  }
});

Deno.test("AddressCount.take() refuses over the limit per address, until one is released", () => {
  const count = new AddressCount(2);
  const take = (address: string) => count.take(address);
  const [first, second, third, other] = ["a", "a", "a", "b"].map(take);
  assertEquals([third, typeof other], [undefined, "function"]);
  first?.();
  first?.(); // idempotent
  const again = take("a");
  assertEquals([typeof again, take("a")], ["function", undefined]);
  for (const give of [second, again, other]) give?.();
  assertEquals(count.size, 0, "nothing is kept of an address without any");
  const unlimited = new AddressCount(Infinity);
  for (let i = 0; i < 10; i++) unlimited.take("a");
  assertEquals(unlimited.size, 0);
});

Deno.test("Limiter.recordHit() counts every hit, and writes one line in ten seconds for an address and limit", () => {
  const counted: string[] = [];
  const limiter = new Limiter(DEFAULT_LIMITS, {
    limitHit: (limit) => counted.push(limit),
    handshakeRefused() {},
  });
  const rows = [
    ["eventsPerSecond", "a", 0, true],
    ["eventsPerSecond", "a", 1, false],
    ["callsPerAgent", "a", 2, true],
    ["eventsPerSecond", "b", 3, true],
    ["eventsPerSecond", "a", 9_999, false],
    ["eventsPerSecond", "a", 10_000, true],
    ["eventsPerSecond", "a", 10_001, false],
  ] as const;
  for (const [limit, address, now, written] of rows) {
    const taken = limiter.recordHit(limit, { address }, now);
    assertEquals(taken, written, `at ${now}`);
  }
  assertEquals(counted, rows.map(([limit]) => limit));
});

Deno.test("Limiter.recordRefusedHandshake() writes one line in ten seconds for an address, code and reason, with the number of omitted ones", () => {
  using log = captureLog();
  const limiter = new Limiter(DEFAULT_LIMITS, undefined);
  const NO_KEY = "no API key";
  const PAST = "claim exp is past";
  const A = 'Origin ("https://a.example")';
  const B = 'Origin ("https://\\"b.example")';
  const rows = [
    [401, NO_KEY, "192.0.2.1", 0, true],
    [401, NO_KEY, "192.0.2.1", 1, false],
    [401, PAST, "192.0.2.1", 2, true],
    [400, NO_KEY, "192.0.2.1", 3, true],
    [401, NO_KEY, "2001:db8::1", 4, true],
    [401, NO_KEY, "2001:db8::2", 5, false], // the same customer's
    [401, NO_KEY, "192.0.2.1", 9_999, false],
    [401, NO_KEY, "192.0.2.1", 10_000, true],
    [401, NO_KEY, "192.0.2.1", 20_000, true],
    // Quoted text is chosen by the client.
    [403, A, "192.0.2.1", 20_001, true],
    [403, B, "192.0.2.1", 20_002, false],
  ] as const;
  for (const [code, reason, address, now, written] of rows) {
    const refused = { code, reason, address };
    const taken = limiter.recordRefusedHandshake("http", refused, now);
    assertEquals(taken, written, `at ${now}`);
  }
  let read = 0;
  const lines = () => {
    const more = log.audit.slice(read);
    read += more.length;
    return more.map(({ code, reason, omitted }) => [code, reason, omitted]);
  };
  assertEquals(lines(), [
    [401, NO_KEY, undefined],
    [401, PAST, undefined],
    [400, NO_KEY, undefined],
    [401, NO_KEY, undefined],
    [401, NO_KEY, 2],
    [401, NO_KEY, undefined],
    [403, A, undefined],
  ]);
  limiter.flush();
  // That of 2001:db8::2, and the last one.
  assertEquals(lines(), [[401, NO_KEY, undefined], [403, B, undefined]]);
  limiter.flush();
  assertEquals(lines(), []);
});

Deno.test("LogThrottle.take() writes at most a thousand and one lines in ten seconds, for any number of subjects", () => {
  const lines = new LogThrottle<string>(() => {});
  const written = (prefix: string, now: number) =>
    Array.from({ length: 5000 }, (_, i) => i)
      .filter((i) => lines.take(`${prefix} ${i}`, "", now)).length;
  assertEquals(
    [written("a", 0), written("a", 9_999), written("b", 10_000)],
    [1001, 0, 1001],
  );
});

Deno.test("LogThrottle counts every omitted line: in the next one, when it forgets a subject, or at flush()", () => {
  let told = 0;
  const lines = new LogThrottle<number>((_, omitted) => told += 1 + omitted);
  let sent = 0;
  // Repeated subjects, unique ones, and more than are tracked.
  for (let now = 0; now < 60_000; now += 7) {
    const things = [`a ${now % 3}`, `b ${now % 2000}`, `c ${now >> 3}`];
    for (const thing of things) {
      lines.take(thing, now, now);
      sent++;
    }
  }
  assertEquals(told < sent, true);
  lines.flush();
  assertEquals(told, sent);
});

Deno.test("eventEnd() returns how an event was answered", () => {
  const rows = [
    [[], "ok"],
    [[true, null], "ok"],
    [[false, "Room already has an agent"], "refused"],
    [Payload.of({ tools: [] }), "ok"],
    [Payload.of({ content: [], isError: true }), "tool error"],
    [Payload.of({ code: 404, message: "no" }), "error 404"],
    [undefined, "agent gone"],
  ] as const;
  for (const [answer, outcome] of rows) {
    assertEquals(eventEnd(answer).outcome, outcome);
  }
});

const LIMITS = (soft: string) =>
  `Limit                     Soft Limit           Hard Limit           Units
Max processes             7                    7                    processes
Max open files            ${soft.padEnd(21)}4096                 files
Max locked memory         8388608              8388608              bytes
`;

Deno.test("readOpenFiles() parses the soft limit of open files", () => {
  const rows = [
    [LIMITS("256"), 256],
    [LIMITS("unlimited"), Infinity],
    ["Max processes 7 7 processes\n", undefined],
    ["", undefined],
  ] as const;
  for (const [text, limit] of rows) assertEquals(readOpenFiles(text), limit);
});

Deno.test("socketsWithin() reserves a quarter for everything else, from 192 to 1024", () => {
  const descriptors = [30, 200, 256, 1024, 20_000, Infinity];
  const sockets = [1, 8, 64, 768, 18_976, Infinity];
  assertEquals(descriptors.map(socketsWithin), sockets);
});

/** Returns how many sockets a budget allows, one by one. */
function fill(room: DescriptorBudget, most: number): number {
  let open = 0;
  while (open < most && room.allows(open)) open++;
  return open;
}

Deno.test("DescriptorBudget uses a known limit without trials, and sets none where none can be determined", () => {
  let tried = 0;
  const openable = (count: number) => tried += count;
  const known = new DescriptorBudget({ limit: () => 256, openable });
  assertEquals([fill(known, 1000), tried], [64, 0]);
  const none = () => undefined;
  const unknown = new DescriptorBudget({ limit: none, openable: none });
  assertEquals(fill(unknown, 10_000), 10_000);
});

Deno.test("DescriptorBudget finds an unknown limit before it is reached, with few trials", () => {
  for (const limit of [220, 256, 1000, 5000]) {
    let open = 0;
    let tried = 0;
    const own = 20;
    const room = new DescriptorBudget({
      limit: () => undefined,
      openable(count) {
        const found = Math.min(count, limit - own - open);
        tried += found;
        return found;
      },
    });
    while (room.allows(open)) open++;
    assertEquals(open, socketsWithin(limit - own), `of ${limit}`);
    assertEquals(tried <= 4 * limit, true, `${tried} trials`);
    assertEquals(room.allows(open - 1), true);
  }
});

Deno.test("RequestRates.take() limits the requests of a client per second, and how many are open at once until they end", () => {
  const rates = new RequestRates({ eventsPerSecond: 3, callsPerAgent: 2 });
  const ends: (() => void)[] = [];
  const take = (client: string, now: number, kind?: RequestKind) => {
    const found = rates.take(client, now, kind);
    if (typeof found === "function") ends.push(found);
    return typeof found === "function" ? "taken" : found;
  };
  const took = [take("a", 0), take("a", 0), take("a", 0)];
  assertEquals(took, ["taken", "taken", "callsPerAgent"]);
  ends.shift()?.();
  assertEquals(take("b", 0), "taken");
  assertEquals(take("a", 0), "eventsPerSecond");
  assertEquals(take("a", 500), "taken");
  assertEquals(take("a", 1000), "callsPerAgent");
  assertEquals(take("a", 2000, "stream"), "taken"); // beside the calls
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

Deno.test("SocketSlots.take() limits the connections in total and per address, until they close", () => {
  const taken: string[] = [];
  const limiter = new Limiter(
    { ...DEFAULT_LIMITS, sockets: 3, socketsPerAddress: 2 },
    { limitHit: (limit) => taken.push(limit), handshakeRefused() {} },
  );
  const statusOf = (found: ReturnType<SocketSlots["take"]>) =>
    typeof found === "function"
      ? "taken"
      : [found.status, found.headers["Retry-After"]];
  const slots = new SocketSlots({ limiter, proxies: 0 });
  const release = slots.take("a");
  assertEquals(statusOf(slots.take("a")), "taken");
  assertEquals(statusOf(slots.take("a")), [429, "5"]);
  assertEquals(statusOf(slots.take("b")), "taken");
  assertEquals(statusOf(slots.take("c")), [503, "5"]);
  if (typeof release === "function") release();
  assertEquals(statusOf(slots.take("a")), "taken");
  assertEquals(statusOf(slots.take("c")), [503, "5"]);
  assertEquals(taken, ["socketsPerAddress", "sockets", "sockets"]);
  const proxied = new SocketSlots({ limiter, proxies: 1 });
  for (let at = 0; at < 3; at++) {
    assertEquals(statusOf(proxied.take("a")), "taken");
  }
  const source = { limit: () => 193, openable: () => undefined };
  const descriptors = new DescriptorBudget(source);
  const few = new SocketSlots({ limiter, proxies: 0 }, descriptors);
  assertEquals(statusOf(few.take("a")), "taken");
  assertEquals(statusOf(few.take("b")), [503, "5"]);
});

Deno.test("Tries of an address are counted for a minute from the first one, wherever in a minute of the day that is", () => {
  using date = new TestDate();
  for (let i = 0; i < 4; i++) {
    date.pass(15_000);
    const tries = new Tries({ key: 2 });
    tries.count("key", "10.0.0.1");
    date.pass(59_000);
    tries.count("key", "10.0.0.1");
    assertEquals(tries.isExceeded("key", "10.0.0.1"), true);
    date.pass(1_000);
    assertEquals(tries.isExceeded("key", "10.0.0.1"), false);
    tries.count("key", "10.0.0.1");
    date.pass(-3_600_000);
    tries.count("key", "10.0.0.1");
    assertEquals(tries.isExceeded("key", "10.0.0.1"), false, "set back");
  }
});
