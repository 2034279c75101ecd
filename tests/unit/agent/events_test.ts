import { assertEquals } from "@std/assert";
import { agentEventOf } from "../../../agent/events.ts";
import { type Notification, NOTIFICATIONS } from "../../../protocol/mod.ts";

Deno.test("the Agent's event of a notification is its name on the wire without notify:, in camelCase", () => {
  const names = Object.keys(NOTIFICATIONS) as Notification[];
  assertEquals(names.map((name) => agentEventOf(name)), [
    "enterOffice",
    "leaveOffice",
    "updateConfig",
    "updateToolList",
    "updateDesktop",
    "updateFinder",
    "updateSkills",
    "updateResources",
    "toolCallCancel",
    "toolCallProgress",
  ]);
});
