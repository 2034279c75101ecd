import { assertEquals } from "@std/assert";
import {
  choiceText,
  type ComputerChoice,
} from "../../../shared/computer_choice.ts";
import { relativeTime } from "../../../shared/time/relative_time.ts";

Deno.test("choiceText() writes a choice in a few words, with five names at most", () => {
  const six = ["a", "b", "c", "d", "e", "f"];
  const rows: [choice: ComputerChoice, text: string][] = [
    [{ except: [] }, "all"],
    [{ only: [] }, "none"],
    [{ only: ["a", "b"] }, "a, b"],
    [{ except: ["a"] }, "all but a"],
    [{ only: six.slice(1) }, "b, c, d, e, f"],
    [{ only: six }, "a, b, c, d, e and 1 more"],
    [{ except: [...six, "g"] }, "all but a, b, c, d, e and 2 more"],
  ];
  for (const [choice, text] of rows) assertEquals(choiceText(choice), text);
});

Deno.test("relativeTime() writes a time by its largest unit, which is complete", () => {
  const now = Date.parse("2026-11-30T12:00:00Z");
  const rows: [time: string, text: string][] = [
    ["2026-11-30T12:00:00Z", "just now"],
    ["2026-11-30T11:59:01Z", "just now"],
    ["2026-11-30T12:00:59Z", "in a moment"],
    ["2026-11-30T11:58:01Z", "1 minute ago"],
    ["2026-11-30T13:59:59Z", "in 1 hour"],
    ["2026-11-29T12:00:00Z", "1 day ago"],
    ["2027-05-29T12:00:00Z", "in 180 days"],
  ];
  for (const [time, text] of rows) assertEquals(relativeTime(time, now), text);
});
