/**
 * Approvals in Cloudflare's own runtime: a device reaches its Computer by the registry's object.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import {
  answerOf,
  newDevice,
  postDevice,
  RelayedComputer,
} from "../../support/approvals/relayed.ts";
import {
  endWorkers,
  LEAVES_TIMER,
  startWorker,
} from "../../support/edge/workerd.ts";

Deno.test.afterAll(endWorkers);

for (const single of [false, true]) {
  Deno.test({
    ...LEAVES_TIMER,
    name: `a device's bytes pass a Worker${
      single ? " of one object" : ""
    }, and all that is wrong is one 404`,
    fn: async () => {
      await using server = await startWorker({
        OPTIONS: { insecure: true, single },
        APPROVALS: true,
      });
      const { url } = server;
      const phone = await newDevice();
      const other = await newDevice("tablet");
      await using computer = await RelayedComputer.join(url, [phone]);
      for (const body of ["x", "y".repeat(65_536)]) {
        const answer = await answerOf(await postDevice(url, phone.token, body));
        assertEquals([answer.status, answer.text], [200, `yes to ${body}`]);
      }
      const wrong = [];
      for (
        const [token, path] of [
          [other.token, "/approve/v1/north/laptop"],
          [phone.token, "/approve/v1/north/desktop"],
          [phone.token, "/approve/v1/south/laptop"],
          [undefined, "/approve/v1/north/laptop"],
        ] as const
      ) wrong.push(await answerOf(await postDevice(url, token, "x", { path })));
      for (const each of wrong) assertEquals(each, wrong[0]);
      assertEquals(wrong[0]?.status, 404);
      const gone = new AbortController();
      const polls = [0, 1].map(() =>
        postDevice(url, phone.token, "wait", { signal: gone.signal })
      );
      await computer.got(4);
      const third = await answerOf(await postDevice(url, phone.token, "x"));
      assertEquals([third.status, third.headers["retry-after"]], [429, "1"]);
      assertEquals(await computer.update([other]), { devices: 1 });
      for (const poll of polls) {
        assertEquals((await answerOf(await poll)).status, 404);
      }
      const page = await fetch(`${url}/approve`);
      assertEquals(page.status, 200);
      await page.body?.cancel();
    },
  });
}
