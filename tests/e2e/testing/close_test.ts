import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { startOffice } from "../../../testing/mod.ts";

/** Closes with a word in the log, and throws it where it is told to. */
const closing = (log: string[], word: string, fails = false) => ({
  [Symbol.asyncDispose]: () => {
    log.push(word);
    return fails ? Promise.reject(new Error(word)) : Promise.resolve();
  },
});

Deno.test("an office closes the last first, before its Agent and its Server", async () => {
  const log: string[] = [];
  const office = await startOffice();
  office.agent.on("disconnected", ({ reason }) => log.push(reason));
  office.use(closing(log, "first"));
  office.use(closing(log, "second"));
  await office.close();
  assertEquals(log.slice(0, 2), ["second", "first"]);
  assertEquals(office.agent.state, "closed");
  await assertRejects(() => fetch(`${office.url}/healthz`));
});

Deno.test("an office closes everything even if parts of it fail, and says all that went wrong", async () => {
  const log: string[] = [];
  const one = await startOffice();
  one.use(closing(log, "fine"));
  one.use(closing(log, "broken", true));
  await assertRejects(() => one.close(), Error, "broken");
  assertEquals(log, ["broken", "fine"]);
  assertEquals(one.agent.state, "closed");

  const two = await startOffice();
  two.use(closing(log, "left", true));
  two.use(closing(log, "right", true));
  const error = await assertRejects(() => two.close(), AggregateError, "2");
  assertEquals(error.errors.map(({ message }) => message), ["right", "left"]);
  assertEquals(two.agent.state, "closed");
});

Deno.test("a closed office takes nothing more, and may be closed again", async () => {
  const office = await startOffice();
  await office.close();
  assertThrows(() => office.use(closing([], "late")), Error, "closed");
  await assertRejects(() => office.addComputer("pc"), Error, "closed");
  await office.close();
  assert(office.agent.state === "closed");
});
