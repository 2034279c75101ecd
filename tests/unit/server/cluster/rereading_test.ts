import { assertEquals } from "@std/assert";
import { Rereading } from "../../../../server/cluster/switchboard/rereading.ts";
import { settled } from "../../../support/cluster/fake_clock.ts";

/** A reading whose answers are the test's. */
function newReading() {
  const done: string[] = [];
  const asked: PromiseWithResolvers<void>[] = [];
  const reading = new Rereading(
    () => {
      const answer = Promise.withResolvers<void>();
      asked.push(answer);
      return answer.promise;
    },
    (node) => void done.push(node),
  );
  return { reading, done, asked };
}

Deno.test("Rereading reads once for all nodes that are lost while it reads", async () => {
  const { reading, done, asked } = newReading();
  for (const node of ["a", "b", "c"]) reading.add(node);
  assertEquals(asked.length, 1);
  asked[0]?.resolve();
  await settled();
  assertEquals([asked.length, done], [2, ["a"]]);
  asked[1]?.resolve();
  await settled();
  assertEquals([asked.length, done], [2, ["a", "b", "c"]]);
});

Deno.test("Rereading tries again what has failed, and nothing else", async () => {
  const { reading, done, asked } = newReading();
  reading.add("a");
  asked[0]?.reject(new Error("away"));
  await settled();
  assertEquals([asked.length, done], [1, []]);
  reading.retry();
  asked[1]?.resolve();
  await settled();
  reading.retry();
  assertEquals([asked.length, done], [2, ["a"]]);
});
