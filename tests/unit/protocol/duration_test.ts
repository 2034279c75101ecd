import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { parseDuration } from "../../../protocol/validation.ts";

Deno.test("parseDuration() reads ISO 8601 durations into seconds", () => {
  const durations: [text: string, seconds: number][] = [
    ["PT30S", 30],
    ["PT0S", 0],
    ["PT5M", 300],
    ["PT1H", 3600],
    ["P1D", 86_400],
    ["P2W", 1_209_600],
    ["PT1H30M", 5400],
    ["P1DT2H3M4S", 93_784],
    ["PT0.5S", 0.5],
    ["PT1.5M", 90],
    ["PT300S", 300],
  ];
  for (const [text, seconds] of durations) {
    assertEquals(parseDuration(text), seconds, text);
  }
});

Deno.test("parseDuration() refuses anything else and shows the form", () => {
  const texts = [
    "",
    "P",
    "PT",
    "P1DT",
    "30",
    "30s",
    "PT30",
    "pt30s",
    "PT30S ",
    " PT30S",
    "-PT30S",
    "PT-30S",
    "PT1S1M",
    "P1Y",
    "P1M",
    "P1W2D",
    "PT.5S",
    "PT1.S",
    "PT1e3S",
    "0:00:30",
  ];
  for (const text of texts) {
    assertThrows(() => parseDuration(text), TypeError, '"PT30S"', text);
  }
});

Deno.test("parseDuration() adds up any days, hours, minutes and seconds", () => {
  const count = fc.integer({ min: 0, max: 10_000 });
  fc.assert(
    fc.property(count, count, count, count, (d, h, m, s) => {
      assertEquals(
        parseDuration(`P${d}DT${h}H${m}M${s}S`),
        ((d * 24 + h) * 60 + m) * 60 + s,
      );
    }),
  );
});
