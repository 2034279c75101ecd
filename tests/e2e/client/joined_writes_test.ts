import { assert, assertEquals } from "@std/assert";
import { Socket } from "node:net";
import { startOffice } from "../../support/office.ts";

/** Counts the writes of this process to each port while work runs. */
async function countWrites(
  work: () => Promise<unknown>,
): Promise<Map<number | undefined, number>> {
  const writes = new Map<number | undefined, number>();
  const { _write, _writev } = Socket.prototype;
  const counting = <A extends unknown[]>(write: (...args: A) => void) =>
    function (this: Socket, ...args: A): void {
      const { localPort } = this;
      writes.set(localPort, (writes.get(localPort) ?? 0) + 1);
      write.apply(this, args);
    };
  try {
    Socket.prototype._write = counting(_write);
    if (_writev) Socket.prototype._writev = counting(_writev);
    await work();
    return writes;
  } finally {
    Socket.prototype._write = _write;
    if (_writev) Socket.prototype._writev = _writev;
  }
}

Deno.test("many calls at once leave an Agent in few writes, and so do their answers a Computer", async () => {
  const waiting: (() => void)[] = [];
  const CALLS = 40;
  await using office = await startOffice({
    agent: { transports: ["websocket"] },
    computers: {
      pc: (_event, payload) =>
        new Promise((resolve) => {
          const { params: { message: text } } = payload as {
            params: { message: string };
          };
          waiting.push(() => resolve({ content: [{ type: "text", text }] }));
          if (waiting.length === CALLS) waiting.forEach((answer) => answer());
        }),
    },
  });
  const { agent } = office;
  let results: string[] = [];
  const writes = await countWrites(async () => {
    const calls = Array.from({ length: CALLS }, async (_, i) => {
      const { content } = await agent.callTool("pc", "echo", {
        message: `${i}`,
      });
      return content.map((block) => block.text).join();
    });
    results = await Promise.all(calls);
  });
  assertEquals(results, Array.from({ length: CALLS }, (_, i) => `${i}`));
  // The Server's two sockets are of this process too.
  const sum = [...writes.values()].reduce((sum, count) => sum + count, 0);
  assert(sum < CALLS, `${sum} writes for ${CALLS} calls and answers`);
});
