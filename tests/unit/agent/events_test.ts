import { assertEquals, assertRejects } from "@std/assert";
import {
  agentEventOf,
  type AgentEvents,
  followDesktop,
} from "../../../agent/events.ts";
import { Emitter } from "../../../client/emitter.ts";
import { ConnectionError } from "../../../client/errors.ts";
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

/** Follows a desktop whose fetches return the given results in turn. */
function follow(answers: readonly (string[] | Error)[]) {
  const events = new Emitter<AgentEvents>(() => {});
  const left = [...answers];
  const fetched: PromiseWithResolvers<void>[] = answers.map(() =>
    Promise.withResolvers()
  );
  const desktop = followDesktop("pc", {
    on: (...args) => events.on(...args),
    fetch: () => {
      const answer = left.shift();
      fetched[answers.length - left.length - 1]?.resolve();
      return answer instanceof Error
        ? Promise.reject(answer)
        : Promise.resolve(answer ?? []);
    },
  }, undefined);
  return { events, desktop, fetched };
}

const lost = new ConnectionError("lost", "The connection was lost");

Deno.test("followDesktop() continues after a connection loss during a fetch (spec §9)", async () => {
  const { events, desktop, fetched } = follow([["one"], lost, ["two"]]);
  assertEquals((await desktop.next()).value, ["one"]);
  const next = desktop.next();
  events.emit("updateDesktop", { computer: "pc" });
  await fetched[1]?.promise;
  events.emit("disconnected", { reason: "gone", reconnecting: true });
  events.emit("joined", { office: "north", rejoined: true });
  assertEquals((await next).value, ["two"]);
  await desktop.return();
});

Deno.test("followDesktop() ends with the connection at any point", async () => {
  const { events, desktop, fetched } = follow([["one"], lost]);
  assertEquals((await desktop.next()).value, ["one"]);
  const next = desktop.next();
  events.emit("updateDesktop", { computer: "pc" });
  events.emit("disconnected", { reason: "closed", reconnecting: false });
  await assertRejects(() => next, ConnectionError, "closed");
  fetched.forEach(({ resolve }) => resolve());
});

Deno.test("followDesktop() does not start without a connection", async () => {
  const { desktop } = follow([lost]);
  await assertRejects(() => desktop.next(), ConnectionError, "lost");
});
