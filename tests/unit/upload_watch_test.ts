import { assertEquals } from "@std/assert";
import {
  UPLOAD_WINDOW_MS,
  UploadWatch,
} from "../../server/wire/upload_watch.ts";
import { hurryTimers } from "../support/timers.ts";

/** What each look at a reader came to, when it is in these states at the looks. */
async function looks(
  ...states: { pending: boolean; messages: number; held: number }[]
): Promise<string[]> {
  using _ = hurryTimers(UPLOAD_WINDOW_MS);
  const watch = new UploadWatch(1000); // 20,000 bytes a window
  const seen: string[] = [];
  const done = Promise.withResolvers<void>();
  const first = states.shift();
  const reader = { pending: true, messages: 0, held: 0, ...first };
  const take = () => Object.assign(reader, states.shift());
  // It is in the next state when it is looked at, which is later.
  watch.add(
    reader,
    (upload) => {
      seen.push(upload ? "goes on" : "ended");
      if (upload) take();
      else done.resolve();
    },
    () => {
      seen.push("too slow");
      done.resolve();
    },
  );
  take();
  await done.promise;
  watch.close();
  return seen;
}

const at = (messages: number, held: number, pending = true) => ({
  pending,
  messages,
  held,
});

Deno.test("UploadWatch lets a message go on that grows as it should, however long it takes", async () => {
  assertEquals(
    await looks(at(0, 1), at(0, 20_001), at(0, 40_001), at(0, 60_000)),
    ["goes on", "goes on", "too slow"],
  );
});

Deno.test("UploadWatch ends a message that does not grow, or too little", async () => {
  assertEquals(await looks(at(0, 0), at(0, 0)), ["too slow"]);
  assertEquals(await looks(at(7, 500), at(7, 20_499)), ["too slow"]);
});

Deno.test("UploadWatch takes the next message for another one, which has its own time", async () => {
  assertEquals(
    await looks(at(0, 0), at(1, 5), at(2, 5), at(2, 5)),
    ["goes on", "goes on", "too slow"],
  );
});

Deno.test("UploadWatch looks no more once there is nothing that has begun", async () => {
  assertEquals(await looks(at(0, 0), at(1, 0, false)), ["ended"]);
});
