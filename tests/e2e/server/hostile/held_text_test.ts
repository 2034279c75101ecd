import { assert } from "@std/assert";
import { createSmcpServer } from "../../../../server/mod.ts";
import { memoryHeld } from "../../../support/server/memory.ts";
import { connectRaw, joinRaw } from "../../../support/wire/raw_client.ts";

const MEBIBYTE = 2 ** 20;
const COUNT = 20;

/** Text that no engine shares between messages. */
const long = (i: number) => `${i}${"x".repeat(MEBIBYTE)}`;

Deno.test("members hold neither the text of their join nor that of their last error", async () => {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(createSmcpServer());
  const { url } = await server.listen({ port: 0 });
  const agent = stack.use(await joinRaw(url, "agent", "agent", "office"));
  /** A member of 1 MiB, whose answer of 1 MiB is an error. */
  const add = async (i: number) => {
    const name = `computer-of-a-name-that-is-not-short-${i}`;
    const computer = stack.use(await connectRaw(url));
    await computer.request("server:join_office", {
      role: "computer",
      name,
      office_id: "office",
      pad: long(i),
    });
    computer.handle(
      "client:get_config",
      (_, ack) => ack({ code: 500, message: long(i) }),
    );
    await agent.ask("client:get_config", {
      agent: "agent",
      computer: name,
      req_id: `request-${i}`,
    });
    // Platforms may hold the last message of a connection, until its next one.
    await computer.join("computer", name, "office");
  };
  await add(COUNT); // what is allocated once
  const before = memoryHeld();
  for (let i = 0; i < COUNT; i++) await add(i);
  const held = (memoryHeld() - before) / MEBIBYTE;
  assert(held < COUNT / 4, `${held.toFixed(1)} MiB`);
});
