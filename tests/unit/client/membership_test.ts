import { assertEquals, assertRejects } from "@std/assert";
import { ConnectionError } from "../../../client/errors.ts";
import { Membership } from "../../../client/membership.ts";
import { receive } from "../../../client/wire.ts";

/** What the Server was asked or told: the event's last word and the office. */
type Said = `${"join" | "leave" | "gave up"} ${string}`;

/** A membership, and the Server's side of its line. */
function setup() {
  const said: Said[] = [];
  const asked: {
    answer: (...args: unknown[]) => void;
    fail: (error: unknown) => void;
  }[] = [];
  const told: string[] = [];
  const failed: (() => void)[] = [];
  const membership = new Membership({ role: "computer", name: "laptop" }, {
    ask: (event, payload, _options, heard) => {
      const { office_id } = payload as { office_id: string };
      said.push(`${event.includes("join") ? "join" : "leave"} ${office_id}`);
      const { promise, resolve, reject } = Promise.withResolvers<unknown[]>();
      asked.push({
        answer: (...args) => {
          heard(args);
          resolve(args);
        },
        fail: reject,
      });
      return promise;
    },
    send: (_event, payload) =>
      void said.push(`gave up ${(payload as { office_id: string }).office_id}`),
    joined: ({ office }) => told.push(office),
    failed: () => failed.splice(0).forEach((resolve) => resolve()),
  });
  return {
    membership,
    said,
    told,
    /** The oldest request that has no answer. */
    next: () => asked.shift(),
    /** Resolves at the next `rejoinFailed`. */
    refused: () => new Promise<void>((resolve) => failed.push(resolve)),
  };
}

/** In office "a", where the Server does not let it back in. */
async function shutOut() {
  const office = setup();
  const { membership, next } = office;
  const first = membership.join("a");
  next()?.answer(true);
  await first;
  membership.lost();
  membership.restore();
  const refused = office.refused();
  next()?.answer(false, "full");
  await refused;
  return office;
}

Deno.test("Membership.join() gives up the way back to another office", async () => {
  const { membership, said, next } = await shutOut();
  const other = membership.join("b");
  next()?.answer(true);
  await other;
  assertEquals([membership.office, membership.joined], ["b", true]);
  assertEquals(said, ["join a", "join a", "join b"]);
  // A timer that still runs would be reported as a leak.
});

Deno.test("Membership.join() that is refused goes on with the way back", async () => {
  const { membership, said, next } = await shutOut();
  const other = membership.join("b");
  next()?.answer(false, "full");
  await assertRejects(() => other, ConnectionError, "full");
  next()?.answer(true);
  assertEquals([membership.office, membership.joined], ["a", true]);
  assertEquals(said, ["join a", "join a", "join b", "join a"]);
});

Deno.test("Membership.join() that is not answered is taken back", async () => {
  const { membership, said, next } = setup();
  const join = membership.join("a");
  next()?.fail(new ConnectionError("timeout", "late"));
  await assertRejects(() => join, ConnectionError, "late");
  assertEquals(said, ["join a", "gave up a"]);
});

Deno.test("Membership.leave() overtakes a join that is on its way", async () => {
  const { membership, said, told, next } = setup();
  const join = membership.join("a");
  const leave = membership.leave();
  assertEquals(said, ["join a", "leave a"]);
  next()?.answer(true);
  await assertRejects(() => join, ConnectionError, "Left before");
  next()?.answer(true);
  await leave;
  assertEquals([membership.office, membership.joined], [undefined, false]);
  assertEquals(told, []);
});

Deno.test("Membership.leave() leaves the office before too where the join on its way was refused", async () => {
  const { membership, said, next } = setup();
  const first = membership.join("a");
  next()?.answer(true);
  await first;
  const join = membership.join("b");
  const leave = membership.leave();
  next()?.answer(false, "full");
  await assertRejects(() => join, ConnectionError, "full");
  next()?.answer(false, "not in it");
  await new Promise((resolve) => setTimeout(resolve));
  assertEquals(said, ["join a", "join b", "leave b", "leave a"]);
  next()?.answer(true);
  await leave;
  assertEquals([membership.office, membership.joined], [undefined, false]);
});

Deno.test("Membership.leave() that is refused changes nothing", async () => {
  const { membership, next } = setup();
  const join = membership.join("a");
  next()?.answer(true);
  await join;
  const leave = membership.leave();
  next()?.answer(false, "Too many events");
  await assertRejects(() => leave, ConnectionError, "Too many events");
  assertEquals([membership.office, membership.joined], ["a", true]);
  const again = membership.leave();
  next()?.answer(true);
  await again;
  assertEquals([membership.office, membership.joined], [undefined, false]);
});

Deno.test("receive() answers nothing once the session is gone in which it was asked: the ack's number may be another request's (spec §5, §7)", async () => {
  const receiver = {
    answer: () => Promise.resolve("late"),
    notify: () => {},
    onThrow: () => {},
  };
  const answers: unknown[] = [];
  const ack = (answer: unknown) => answers.push(answer);
  await receive("client:get_tools", [{}, ack], receiver, () => false);
  assertEquals(answers, []);
  await receive("client:get_tools", [{}, ack], receiver, () => true);
  assertEquals(answers, ["late"]);
});
