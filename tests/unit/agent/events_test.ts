import { assertEquals } from "@std/assert";
import { NOTIFICATION_EVENTS } from "../../../agent/office/events.ts";
import { NOTIFICATIONS } from "../../../protocol/mod.ts";

Deno.test("the Agent's event of a notification is its name on the wire without notify:, in camelCase", () => {
  const camelCase = (name: string) =>
    name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const expected = Object.keys(NOTIFICATIONS).map((name) => [
    name,
    camelCase(name.replace("notify:", "")),
  ]);
  assertEquals<unknown>(NOTIFICATION_EVENTS, Object.fromEntries(expected));
});
