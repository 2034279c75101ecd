import { assert, assertEquals } from "@std/assert";
import {
  Histogram,
  KEPT_SECONDS,
  minutesOf,
  Pulse,
  PULSE_MINUTES,
  Seconds,
  ticksTo,
} from "../../../console/page/server/counts.js";
import {
  eventSentence,
  eventTone,
} from "../../../console/page/server/events.js";

const MINUTE_MS = 60_000;

Deno.test("a pulse counts the calls of the last minutes, and forgets those of before", () => {
  const pulse = new Pulse();
  const now = 100 * MINUTE_MS;
  const counted = (at: number) =>
    pulse.bars(at).flatMap(({ calls, failed }, i) =>
      calls === 0 ? [] : [[i, calls, failed]]
    );
  assertEquals(counted(now), []);
  pulse.add(now - 1, false);
  pulse.add(now, false);
  pulse.add(now + 4999, true);
  assertEquals(counted(now), [[58, 1, 0], [59, 2, 1]]);
  assertEquals(counted(now + MINUTE_MS), [[46, 1, 0], [47, 2, 1]]);
  pulse.add(now, false); // late, but of the time that is shown
  assertEquals(counted(now + MINUTE_MS), [[46, 1, 0], [47, 3, 1]]);
  assertEquals(counted(now + PULSE_MINUTES * MINUTE_MS), []);
  pulse.add(now, false); // a clock has gone back
  assertEquals(counted(now + PULSE_MINUTES * MINUTE_MS), []);
  assertEquals(counted(now + 1e9), []);
});

Deno.test("a pulse shows the calls of a Server whose clock is ahead of that of the page", () => {
  const pulse = new Pulse();
  const now = 100 * MINUTE_MS;
  pulse.add(now + 2 * PULSE_MINUTES * MINUTE_MS, true);
  assertEquals(pulse.bars(now).at(-1)?.failed, 1);
});

Deno.test("the marks of an axis are round, few, and reach the largest value", () => {
  for (
    const [most, ticks] of [
      [4, [0, 1, 2, 3, 4]],
      [5, [0, 2, 4, 6]],
      [12, [0, 5, 10, 15]],
      [0.7, [0, 0.2, 0.4, 0.6, 0.8]],
      [1000, [0, 500, 1000]],
      [987_654_321, [0, 500_000_000, 1_000_000_000]],
    ] as const
  ) assertEquals(ticksTo(most), [...ticks]);
  assertEquals(minutesOf(61, 240), [120, 180, 240]);
  assertEquals(minutesOf(61, 119), []);
});

Deno.test("events of every kind are sentences, and those that need an operator stand out", () => {
  const data = {
    name: "pc",
    role: "computer",
    by: "key:ops",
    reason: "it hangs",
    agent: "planner",
    computer: "pc",
    tool: "order",
    ms: 12,
  };
  const { by: _, reason: __, ...calm } = data;
  const address = "10.0.0.1";
  const failed = { outcome: "timeout", ended_by: "agent" };
  const cancelled = { outcome: "cancelled", ended_by: "operator" };
  const asked = { ...data, tool: undefined, request: "client:get_tools" };
  const program = { program: "Claude", principal: "key:me" };
  const rows: [event: string, data: object, sentence: string, tone: string][] =
    [
      ["joined", calm, "pc joined as Computer", "good"],
      ["left", { ...calm, reason: "gone" }, "pc left: gone", "muted"],
      ["member_kicked", data, "key:ops kicked pc: it hangs", "warn"],
      ["call_began", calm, "planner calls order of pc", "busy"],
      [
        "call_ended",
        { ...calm, outcome: "ok" },
        "order of pc: ok after 12 ms",
        "good",
      ],
      [
        "call_ended",
        { ...calm, ...failed },
        "order of pc: timeout of the agent after 12 ms",
        "bad",
      ],
      [
        "call_ended",
        { ...calm, ...cancelled },
        "order of pc: cancelled by the operator after 12 ms",
        "muted",
      ],
      [
        "call_cancelled",
        data,
        "key:ops cancelled a call of planner to pc: it hangs",
        "warn",
      ],
      [
        "operator_asked",
        { ...asked, outcome: "ok" },
        "key:ops asked pc for get_tools: ok",
        "muted",
      ],
      [
        "key_revoked",
        { ...data, principal: "key:lab" },
        "key:ops revoked key:lab: it hangs",
        "warn",
      ],
      ["join_refused", data, "pc was refused: it hangs", "warn"],
      [
        "limit_hit",
        { address, limit: "events" },
        '10.0.0.1 exceeded the limit "events"',
        "warn",
      ],
      ["sign_in_allowed", program, "key:me let Claude in", "good"],
      ["sign_in_denied", { program: "" }, "a program was not let in", "muted"],
      [
        "sign_in_refused",
        { address, reason: "wrong key" },
        "The sign-in of 10.0.0.1 was refused: wrong key",
        "warn",
      ],
      [
        "token_reused",
        { ...program, token: "refresh token" },
        "A refresh token of Claude was used twice: it may be stolen",
        "warn",
      ],
      [
        "grant_ended",
        { ...program, why: "expired" },
        "The sign-in of Claude ended: expired",
        "muted",
      ],
      [
        "grant_ended",
        { ...program, why: "operator", by: "key:ops", reason: "it is lost" },
        "key:ops ended the sign-in of Claude: it is lost",
        "muted",
      ],
      ["log", { level: "error", message: "full" }, "full", "bad"],
      ["of_a_later_server", {}, "of_a_later_server", "muted"],
    ];
  for (const [event, data, sentence, tone] of rows) {
    assertEquals<string[]>(
      [eventSentence(event, data), eventTone(event, data)],
      [sentence, tone],
    );
  }
});

Deno.test("a histogram knows the durations that it counted, within 5 %", () => {
  const histogram = new Histogram();
  assertEquals(histogram.quantile(0.5), undefined);
  for (let ms = 1; ms <= 1000; ms++) histogram.add(ms);
  for (const [part, wanted] of [[0.5, 500], [0.99, 990], [1, 1000]] as const) {
    const found = histogram.quantile(part) ?? 0;
    assert(Math.abs(found / wanted - 1) < 0.05, `${part}: ${found}`);
  }
  const odd = new Histogram();
  for (const ms of [0, -1, 1e12]) odd.add(ms);
  assertEquals(odd.count, 3);
  assert((odd.quantile(0.5) ?? 1) < 0.06);
  assert((odd.quantile(1) ?? 0) > 900_000);
});

Deno.test("seconds count calls and failures where they ended, and forget the oldest", () => {
  const seconds = new Seconds();
  seconds.add(5_000, 1, "ok");
  seconds.add(5_999, 3, "error 404");
  seconds.add(4_000, 3, "ok"); // the clock went back
  const [first] = seconds.all;
  assertEquals([first?.at, first?.calls, [...first?.errors ?? []]], [
    5,
    2,
    [["error 404", 1]],
  ]);
  assertEquals(seconds.all.length, 2);
  seconds.add((5 + KEPT_SECONDS) * 1000, 1, "ok");
  assertEquals(seconds.all.map(({ at }) => at), [5 + KEPT_SECONDS]);
});
