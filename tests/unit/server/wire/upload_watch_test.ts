import { assertEquals } from "@std/assert";
import {
  Upload,
  UPLOAD_WINDOW_MS,
  UploadWatch,
} from "../../../../server/wire/websocket/upload_watch.ts";
import { hurryTimers, keepsRunning } from "../../../support/timers.ts";

/** A reader at one moment. */
interface State {
  pending: boolean;
  messages: number;
  held: number;
  reserved: number;
}

const at = (messages: number, held: number, pending = true): State => ({
  pending,
  messages,
  held,
  reserved: 0,
});

/** Returns the outcome for a connection whose reader is in these states at each check. */
async function looks(first: State, ...states: State[]): Promise<string> {
  using _running = keepsRunning();
  using timers = hurryTimers(UPLOAD_WINDOW_MS);
  const watch = new UploadWatch({ bytesPerSecond: 1000, bytes: Infinity });
  const done = Promise.withResolvers<string>();
  let state = first;
  const upload = new Upload(
    watch,
    {
      get pending() {
        // Asked once a look, before all else.
        state = states.shift() ?? state;
        if (!state.pending) done.resolve("nothing to look at");
        return state.pending;
      },
      get messages() {
        return state.messages;
      },
      get held() {
        return state.held;
      },
      reserved: 0,
    },
    (error) => done.resolve(`${error.code} after ${timers.armed.length}`),
  );
  states.unshift(first);
  upload.note();
  const ended = await done.promise;
  watch.close();
  return ended;
}

Deno.test("Upload continues while its message grows fast enough, however long that takes", async () => {
  assertEquals(
    await looks(at(0, 1), at(0, 20_001), at(0, 40_001), at(0, 60_000)),
    "1008 after 3",
  );
});

Deno.test("Upload ends when its message grows too slowly, or not at all", async () => {
  assertEquals(await looks(at(0, 0), at(0, 0)), "1008 after 1");
  assertEquals(await looks(at(7, 500), at(7, 20_499)), "1008 after 1");
});

Deno.test("Upload gives the next message its own time window", async () => {
  assertEquals(
    await looks(at(0, 0), at(1, 5), at(2, 5), at(2, 5)),
    "1008 after 3",
  );
});

Deno.test("Upload is not checked without an unfinished message", async () => {
  assertEquals(
    await looks(at(0, 0), at(1, 0, false)),
    "nothing to look at",
  );
});

Deno.test("UploadWatch ends the largest message when all together hold too much, and counts their bytes", () => {
  const watch = new UploadWatch({ bytesPerSecond: 1, bytes: 1000 });
  const ended: string[] = [];
  const connection = (name: string) => {
    const reader = at(0, 0);
    const upload = new Upload(watch, reader, (error) => {
      ended.push(`${name} ${error.code}`);
      reader.reserved = 0;
      upload.note();
    });
    return {
      holds(bytes: number) {
        reader.reserved = bytes;
        upload.note();
      },
      upload,
    };
  };
  const [a, b, c] = ["a", "b", "c"].map(connection);
  a!.holds(300);
  b!.holds(600);
  c!.holds(100);
  assertEquals([watch.held, ended], [1000, []]);
  c!.holds(200);
  assertEquals([watch.held, ended], [500, ["b 1013"]]);
  a!.holds(0);
  c!.upload.close();
  assertEquals(watch.held, 0);
  connection("d").holds(1001);
  assertEquals([watch.held, ended], [0, ["b 1013", "d 1013"]]);
  watch.close();
});
