import { assert, assertEquals, assertThrows } from "@std/assert";
import { BACKOFF, backoff } from "../../../client/backoff.ts";
import { Emitter } from "../../../client/emitter.ts";
import { parseServerUrl } from "../../../client/url.ts";

Deno.test("backoff() doubles up to its limit and spreads by half", () => {
  assertEquals([0, 1, 2].map((n) => backoff(n, 0.5)), [500, 1000, 2000]);
  assertEquals(backoff(40, 0.5), BACKOFF.maxDelayMs);
  assertEquals(backoff(0, 0), 250);
  assertEquals(backoff(0, 1), 750);
});

Deno.test("parseServerUrl() never lets user code set the version", () => {
  assertEquals(
    parseServerUrl("wss://smcp.example.com:8443/?a2c_version=9.9.9&tenant=x"),
    { origin: "wss://smcp.example.com:8443", query: { tenant: "x" } },
  );
});

Deno.test("parseServerUrl() says what a right URL looks like", () => {
  for (const url of ["", "127.0.0.1:8787", "ftp://a", "office"]) {
    const error = assertThrows(() => parseServerUrl(url), TypeError);
    assert(error.message.includes("http://127.0.0.1:8787"));
  }
});

Deno.test("Emitter.emit() keeps what one listener throws from the others", async () => {
  const thrown: unknown[] = [];
  const heard: number[] = [];
  const emitter = new Emitter<{ tick: number }>((error) => thrown.push(error));
  emitter.on("tick", () => {
    throw "at once";
  });
  emitter.on("tick", () => Promise.reject("later"));
  const off = emitter.on("tick", (n) => heard.push(n));
  emitter.emit("tick", 1);
  off();
  emitter.emit("tick", 2);
  await Promise.resolve();
  await Promise.resolve();
  assertEquals(heard, [1]);
  assertEquals(thrown, ["at once", "at once", "later", "later"]);
});
