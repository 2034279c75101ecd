import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { BACKOFF, backoff } from "../../../client/wire.ts";
import { checkOptions, parseServerUrl } from "../../../client/check_options.ts";
import { Emitter } from "../../../client/emitter.ts";

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

Deno.test("checkOptions() names the option that is invalid, and what is expected, without credentials", () => {
  const right = { url: "http://127.0.0.1:8787", name: "planner" };
  const connection = { open: () => assert(false, "must not connect") };
  const inside = { connection, name: "planner" };
  const wrong: [options: unknown, says: RegExp][] = [
    [undefined, /without options: give them as \{ url: .*, name: /],
    [{}, /without options: give them as \{ url: .*, name: /],
    [
      { name: "planner" },
      /without the option url: expected a URL such as .*, or the option connection/,
    ],
    [{ ...right, url: 5 }, /Cannot connect to 5: expected a URL such as/],
    [{ url: right.url }, /option name: expected a text of 1 to 256/],
    [{ ...right, name: "" }, /option name: expected a text of 1 to 256/],
    [{ ...right, name: "a\nb" }, /option name: .* without control characters/],
    [{ ...right, name: 5 }, /option name: expected a text/],
    [
      { ...right, auth: "s3cret" },
      /option auth: expected \{ api_key: "…" \} or/,
    ],
    [{ ...right, auth: ["s3cret"] }, /option auth: expected \{ api_key/],
    [{ ...right, auth: null }, /option auth: expected \{ api_key/],
    [{ ...right, path: "smcp" }, /option path: .* begins with "\/"/],
    [{ ...right, headers: "s3cret" }, /option headers: expected an object/],
    [{ ...right, headers: { a: 1 } }, /option headers: expected an object/],
    [{ ...right, transports: "websocket" }, /option transports: expected \["/],
    [{ ...right, transports: [] }, /option transports: expected \["polling"/],
    [{ ...right, transports: ["ws"] }, /option transports: expected \["poll/],
    [
      { name: "planner", connection: {} },
      /option connection: expected what conn/,
    ],
    [
      { ...right, connection },
      /option url with connection.*: give one of them/,
    ],
    [
      { ...inside, auth: { token: "s3cret" } },
      /option auth with .*the identity/,
    ],
    [
      { ...inside, protocol: "0.2" },
      /option protocol with .*give it to connect/,
    ],
    [{ ...inside, path: "/a/" }, /option path with connection.*leave it out/],
    [{ ...inside, tls: {} }, /option tls with connection.*: leave it out/],
    [
      { ...inside, proxy: false },
      /option proxy with connection.*: leave it out/,
    ],
    [
      { ...inside, headers: {} },
      /option headers with connection.*leave it out/,
    ],
    [
      { ...inside, transports: ["polling"] },
      /option transports with .*leave it/,
    ],
    [{ ...inside, name: "" }, /option name: expected a text of 1 to 256/],
  ];
  for (const [options, says] of wrong) {
    const { message } = assertThrows(
      () => Reflect.apply(checkOptions, undefined, [options]),
      TypeError,
    );
    assertMatch(message, says);
    assertEquals(message.includes("s3cret"), false);
  }
  checkOptions({ ...right, auth: { api_key: "k" }, headers: { a: "b" } });
  checkOptions({ ...right, auth: () => ({ token: "t" }), path: "/a/" });
});
