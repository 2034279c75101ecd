import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { checkOptions } from "../../../client/check_options.ts";
import { parseServerUrl } from "../../../client/server_url.ts";
import { Connection } from "../../../client/connection.ts";
import { Emitter } from "../../../client/emitter.ts";
import { ConnectionError } from "../../../client/errors.ts";
import { Membership } from "../../../client/membership.ts";
import {
  jsonBytes,
  MAX_DEPTH,
  whyUnsendable,
} from "../../../client/message_limits.ts";
import { newTransports } from "../../../client/network/node_transports.ts";
import { chooseProxy } from "../../../client/network/proxy.ts";
import { dial } from "../../../client/socket_wire.ts";
import { VersionChoice } from "../../../client/versions.ts";
import { BACKOFF, backoff } from "../../../client/wire.ts";
import { ProtocolError, ProtocolVersionError } from "../../../protocol/mod.ts";
import type {
  ClientEnd,
  InProcessConnection,
} from "../../../shared/in_process.ts";

Deno.test("backoff() doubles up to its limit and spreads by half", () => {
  assertEquals([0, 1, 2].map((n) => backoff(n, 0.5)), [500, 1000, 2000]);
  assertEquals(backoff(40, 0.5), BACKOFF.maxDelayMs);
  assertEquals([backoff(0, 0), backoff(0, 1)], [250, 750]);
});

Deno.test("parseServerUrl() never lets user code set the version", () => {
  assertEquals(
    parseServerUrl("wss://smcp.example.com:8443/?a2c_version=9.9.9&tenant=x"),
    { origin: "wss://smcp.example.com:8443", query: { tenant: "x" } },
  );
});

Deno.test("parseServerUrl() shows a right URL in its errors", () => {
  for (const url of ["", "127.0.0.1:8787", "ftp://a", "office"]) {
    assertThrows(() => parseServerUrl(url), TypeError, "http://127.0.0.1:8787");
  }
});

Deno.test("Emitter.emit() keeps what one listener throws from the others", async () => {
  const thrown: unknown[] = [];
  const ticks: number[] = [];
  const emitter = new Emitter<{ tick: number }>((error) => thrown.push(error));
  emitter.on("tick", () => {
    throw "at once";
  });
  emitter.on("tick", () => Promise.reject("later"));
  const off = emitter.on("tick", (n) => ticks.push(n));
  emitter.emit("tick", 1);
  off();
  emitter.emit("tick", 2);
  for (let i = 0; i < 2; i++) await Promise.resolve();
  assertEquals(ticks, [1]);
  assertEquals(thrown, ["at once", "at once", "later", "later"]);
});

Deno.test("checkOptions() names the option that is invalid, and what is expected, without credentials", () => {
  const right = { url: "http://127.0.0.1:8787", name: "planner" };
  const connection = { open: () => assert(false, "must not connect") };
  const inside = { connection, name: "planner" };
  const none = /without options: give them as \{ url: .*, name: /;
  const rows: [options: object | undefined, says: RegExp][] = [
    [undefined, none],
    [{}, none],
    [
      { name: "planner" },
      /without the option url: expected a URL such as .*, or the option connection/,
    ],
    [{ ...right, url: 5 }, /Cannot connect to 5: expected a URL such as/],
    [{ url: right.url }, /option name: expected a text of 1 to 256/],
    [{ ...inside, name: "" }, /option name: expected a text of 1 to 256/],
    [{ ...right, name: "a\nb" }, /option name: .* without control characters/],
    [{ ...right, name: "a\ud800" }, /option name: .* or lone surrogates/],
    [{ ...right, name: 5 }, /option name: expected a text/],
    [{ ...right, auth: "s3cret" }, /option auth: expected \{ api_key: "…" \}/],
    [{ ...right, auth: ["s3cret"] }, /option auth: expected \{ api_key/],
    [{ ...right, auth: null }, /option auth: expected \{ api_key/],
    [{ ...right, path: "smcp" }, /option path: .* begins with "\/"/],
    [{ ...right, headers: "s3cret" }, /option headers: expected an object/],
    [{ ...right, headers: { a: 1 } }, /option headers: expected an object/],
    [{ ...right, transports: "websocket" }, /option transports: expected \["/],
    [{ ...right, transports: [] }, /option transports: expected \["polling"/],
    [{ ...right, transports: ["ws"] }, /option transports: expected \["poll/],
    [
      { ...inside, connection: {} },
      /option connection: expected the result of conn/,
    ],
    [{ ...right, connection }, /option url with connection.*: give one of/],
    [{ ...inside, auth: { token: "s3cret" } }, /option auth with .*identity/],
    [{ ...inside, protocol: "0.2" }, /option protocol with .*give it to conn/],
    [{ ...inside, path: "/a/" }, /option path with connection.*leave it out/],
    [{ ...inside, tls: {} }, /option tls with connection.*: leave it out/],
    [{ ...inside, proxy: false }, /option proxy with connection.*: leave it/],
    [{ ...inside, headers: {} }, /option headers with connection.*leave it/],
    [{ ...inside, transports: ["polling"] }, /option transports with .*leave/],
  ];
  for (const [options, says] of rows) {
    const check = () => Reflect.apply(checkOptions, undefined, [options]);
    const { message } = assertThrows(check, TypeError);
    assertMatch(message, says);
    assertEquals(message.includes("s3cret"), false);
  }
  checkOptions({ ...right, auth: { api_key: "k" }, headers: { a: "b" } });
  checkOptions({ ...right, auth: () => ({ token: "t" }), path: "/a/" });
});

Deno.test("whyUnsendable() refuses what is larger than the limit, and nothing else", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("\u0001", "\ud800", '"', "\\", "😀", "ü"),
  );
  const value = fc.oneof(text, fc.jsonValue(), fc.date());
  fc.assert(
    fc.property(fc.dictionary(text, value), fc.nat(600), (message, limit) => {
      const why = whyUnsendable(message, limit);
      assertEquals(why !== undefined, jsonBytes(message) + 64 > limit);
    }),
  );
});

Deno.test("whyUnsendable() refuses what is nested too deeply, also without a limit", () => {
  let deep: object = {};
  for (let level = 1; level < MAX_DEPTH; level++) deep = { deep };
  for (const limit of [undefined, 1e9]) {
    assertEquals(whyUnsendable(deep, limit), undefined);
    assert(whyUnsendable([deep], limit)?.includes("nested deeper"));
  }
});

const choose = (url: string, env: Record<string, string>) =>
  chooseProxy(url, undefined, (name) => env[name])?.url.host;

Deno.test("chooseProxy() takes the variable of the Server's scheme, else ALL_PROXY, and lower case first", () => {
  const all = { ALL_PROXY: "https://all:3" };
  const env = { HTTP_PROXY: "http://plain:1", HTTPS_PROXY: "secure:2", ...all };
  const rows: [url: string, env: Record<string, string>, host?: string][] = [
    ["http://smcp.example", env, "plain:1"],
    ["ws://smcp.example", env, "plain:1"],
    ["https://smcp.example", env, "secure:2"],
    ["wss://smcp.example", env, "secure:2"],
    ["https://smcp.example", all, "all:3"],
    ["http://smcp.example", { ...env, http_proxy: "http://low:4" }, "low:4"],
    ["http://smcp.example", { HTTP_PROXY: "" }],
  ];
  for (const [url, env, host] of rows) {
    assertEquals(choose(url, env), host, url);
  }
});

Deno.test("chooseProxy() takes no variable for this machine, and no proxy where the option is false", () => {
  const own = ["localhost", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]"];
  const all = () => "http://all:3";
  for (const host of own) {
    const url = `http://${host}:8787`;
    assertEquals(chooseProxy(url, undefined, all), undefined, host);
    assertEquals(chooseProxy(url, "http://own:1")?.url.host, "own:1");
  }
  assertEquals(chooseProxy("http://smcp.example", false, all), undefined);
});

Deno.test("chooseProxy() names the variable that has no URL of a proxy", () => {
  assertThrows(
    () => choose("https://smcp.example", { https_proxy: "socks5://p:1" }),
    TypeError,
    'Cannot use https_proxy: socks5:// is not supported; expected a URL such as "http://proxy.example:3128" or "http://user:p%40ssword@proxy.example:3128"; the option proxy goes before it',
  );
});

const speaks = (server: string, client = "0.2.0") =>
  new ProtocolVersionError(server, client);

Deno.test("VersionChoice starts with 0.2, and follows a refusal once until it is accepted (protocol §14)", () => {
  const choice = new VersionChoice();
  assertEquals(choice.current, "0.2");
  const refuse = (version: string, client?: string) => [
    choice.refused(speaks(version, client)),
    choice.current,
  ];
  assertEquals(refuse("0.4.7"), [true, "0.4"]);
  assertEquals(refuse("0.3.0", "0.4.0"), [false, "0.4"]);
  choice.restart();
  assertEquals(refuse("0.3.0", "0.4.0"), [true, "0.3"]);
});

Deno.test("VersionChoice takes the newest version that a Server lists, and follows its refusal nevertheless (protocol §14)", () => {
  const rows: [listed: string[], taken: string][] = [
    [["0.1.2", "0.2.0", "0.3.1", "0.4.0"], "0.4"],
    [["0.4.0", "0.2.0"], "0.4"],
    [["0.2.0", "0.3.0"], "0.3"],
    [["0.2.0", "0.5.0"], "0.2"],
    [["0.1.2"], "0.2"],
    [["no version"], "0.2"],
    [[], "0.2"],
  ];
  for (const [listed, taken] of rows) {
    const choice = new VersionChoice();
    choice.take(listed);
    assertEquals(choice.current, taken, String(listed));
    const follows = taken !== "0.3";
    assertEquals(choice.refused(speaks("0.3.1")), follows);
    assertEquals(choice.current, "0.3");
  }
});

Deno.test("VersionChoice follows no version that is not ours, the same one, or another error", () => {
  const choice = new VersionChoice("auto");
  const versions = ["0.1.2", "0.5.0", "1.0.0", "0.2.9", "unknown", ""];
  const others = [new ProtocolError(401, "Unauthorized"), undefined];
  for (const error of [...versions.map((v) => speaks(v)), ...others]) {
    assertEquals(choice.refused(error), false, String(error));
  }
  assertEquals(choice.current, "0.2");
});

Deno.test("VersionChoice keeps a version that was asked for, and refuses what is none of a client", () => {
  for (const protocol of ["0.2", "0.3", "0.4"] as const) {
    const choice = new VersionChoice(protocol);
    choice.take(["0.2.0", "0.3.1", "0.4.0"]);
    for (const server of ["0.2.0", "0.3.0", "0.4.0"]) {
      assertEquals(choice.refused(speaks(server)), false);
    }
    assertEquals([choice.current, choice.isFree], [protocol, false]);
  }
  for (const wanted of ["0.1", "0.5", "0.4.0", ""]) {
    assertThrows(
      () => Reflect.construct(VersionChoice, [wanted]),
      TypeError,
      'expected "auto", "0.2", "0.3", "0.4"',
    );
  }
});

Deno.test("dial() begins with polling from 0.3 on, whatever its options (protocol §2)", () => {
  const transports = (protocol: "0.2" | "0.3" | "0.4") =>
    dial({
      options: { url: "http://host", name: "a", transports: ["websocket"] },
      route: () => undefined,
      credentials: () => {},
      protocol: () => protocol,
      transports: newTransports(),
    }).io.opts.transports?.length;
  assertEquals((["0.2", "0.3", "0.4"] as const).map(transports), [1, 2, 2]);
});

/** A membership, and the Server's side: what it was sent, and the answers to its oldest request. */
function setup() {
  const sent: string[] = [];
  const joins: string[] = [];
  const pending: {
    onAck: (args: unknown[]) => void;
    result: PromiseWithResolvers<unknown[]>;
  }[] = [];
  let refused = () => {};
  const officeOf = (payload: object) => Object(payload).office_id;
  const membership = new Membership({ role: "computer", name: "laptop" }, {
    joinFields: () => ({}),
    ask: (event, payload, _options, onAck) => {
      sent.push(`${event.split(/[:_]/)[1]} ${officeOf(payload)}`);
      const result = Promise.withResolvers<unknown[]>();
      pending.push({ onAck, result });
      return result.promise;
    },
    send: (_event, payload) => void sent.push(`take back ${officeOf(payload)}`),
    joined: ({ office }) => joins.push(office),
    failed: () => refused(),
  });
  const answer = (...args: unknown[]) => {
    const next = pending.shift();
    next?.onAck(args);
    next?.result.resolve(args);
  };
  return {
    membership,
    sent,
    joins,
    answer,
    fail: (error: unknown) => pending.shift()?.result.reject(error),
    state: () => [membership.office, membership.joined],
    async join(office: string) {
      const join = membership.join(office);
      answer(true);
      await join;
    },
    /** Loses the connection; the Server does not let it back in. */
    async shutOut() {
      membership.lost();
      membership.restore();
      const failed = new Promise<void>((resolve) => refused = resolve);
      answer(false, "full");
      await failed;
    },
  };
}

Deno.test("Membership.join() gives up the way back to another office", async () => {
  const { sent, join, shutOut, state } = setup();
  await join("a");
  await shutOut();
  await join("b");
  assertEquals(state(), ["b", true]);
  assertEquals(sent, ["join a", "join a", "join b"]);
  // A timer that still runs would be reported as a leak.
});

Deno.test("Membership.join() that is refused goes on with the way back", async () => {
  const { membership, sent, join, shutOut, answer, state } = setup();
  await join("a");
  await shutOut();
  const other = membership.join("b");
  answer(false, "full");
  await assertRejects(() => other, ConnectionError, "full");
  answer(true);
  assertEquals(state(), ["a", true]);
  assertEquals(sent, ["join a", "join a", "join b", "join a"]);
});

Deno.test("Membership.join() that is not answered is taken back", async () => {
  const { membership, sent, fail } = setup();
  const join = membership.join("a");
  fail(new ConnectionError("timeout", "late"));
  await assertRejects(() => join, ConnectionError, "late");
  assertEquals(sent, ["join a", "take back a"]);
});

Deno.test("Membership.leave() overtakes a join that is on its way", async () => {
  const { membership, sent, joins, answer, state } = setup();
  const join = membership.join("a");
  const leave = membership.leave();
  assertEquals(sent, ["join a", "leave a"]);
  answer(true);
  await assertRejects(() => join, ConnectionError, "Left before");
  answer(true);
  await leave;
  assertEquals([...state(), ...joins], [undefined, false]);
});

Deno.test("Membership.leave() overtakes the way back to its office", async () => {
  const { membership, sent, join, answer, state } = setup();
  await join("a");
  membership.lost();
  membership.restore();
  const leave = membership.leave();
  assertEquals(sent, ["join a", "join a", "leave a"]);
  for (let i = 0; i < 2; i++) answer(true);
  await leave;
  assertEquals(state(), [undefined, false]);
});

Deno.test("Membership.leave() leaves the office before too where the join on its way was refused", async () => {
  const { membership, sent, join, answer, state } = setup();
  await join("a");
  const other = membership.join("b");
  const leave = membership.leave();
  answer(false, "full");
  await assertRejects(() => other, ConnectionError, "full");
  answer(false, "not in it");
  await new Promise((resolve) => setTimeout(resolve));
  assertEquals(sent, ["join a", "join b", "leave b", "leave a"]);
  answer(true);
  await leave;
  assertEquals(state(), [undefined, false]);
});

Deno.test("Membership.leave() that is refused changes nothing", async () => {
  const { membership, join, answer, state } = setup();
  await join("a");
  const leave = membership.leave();
  answer(false, "Too many events");
  await assertRejects(() => leave, ConnectionError, "Too many events");
  assertEquals(state(), ["a", true]);
  const again = membership.leave();
  answer(true);
  await again;
  assertEquals(state(), [undefined, false]);
});

Deno.test("a request is answered with nothing once the session is gone in which it was asked: the ack's number may be another request's (protocol §5, §7)", async () => {
  const answers: unknown[] = [];
  for (const isLost of [true, false]) {
    const opened = Promise.withResolvers<ClientEnd>();
    const connection: InProcessConnection = {
      protocol: "0.4",
      url: "in process",
      maxPayload: 1_000_000,
      open: (_client, end) => {
        opened.resolve(end);
        return { id: "1", send: () => {}, close: () => Promise.resolve() };
      },
    };
    const options = { connection, name: "pc", role: "computer" } as const;
    await using client = new Connection(options, () => {});
    const answer = Promise.withResolvers<string>();
    client.onRequest(() => answer.promise);
    await client.connect();
    const end = await opened.promise;
    end.receive("client:get_tools", {}, (late) => answers.push(isLost, late));
    if (isLost) end.closed("lost", false);
    answer.resolve("late");
    for (let i = 0; i < 3; i++) await Promise.resolve();
  }
  assertEquals(answers, [false, "late"]);
});
