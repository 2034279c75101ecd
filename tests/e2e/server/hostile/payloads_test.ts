import { assert, assertEquals, assertMatch } from "@std/assert";
import { CLIENT_EVENTS, SERVER_EVENTS } from "../../../../protocol/mod.ts";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import { startServerCommand } from "../../../support/server/server_command.ts";
import {
  hostilePayloads,
  nested,
  seeded,
} from "../../../support/wire/hostile_payloads.ts";
import {
  connectRaw,
  joinRaw,
  rawPair,
} from "../../../support/wire/raw_client.ts";
import { RawFrames } from "../../../support/wire/raw_frames.ts";
import { RawPolling } from "../../../support/wire/raw_polling.ts";

const REQUEST = { ...ANY_REQUEST, timeout: 60, role: "agent", name: "agent" };
const CALL = "client:tool_call";

/**
 * Defines a test with a real server process: at its end the server works, two bystanders got nothing,
 * and the log has no failure of the server itself.
 */
function testVictim(name: string, test: (url: string) => Promise<void>): void {
  Deno.test({ name, timeout: 120_000 }, async () => {
    // Without limits, or the flood would not get as far as the rest.
    await using command = await startServerCommand(["--port=0", "--no-limits"]);
    assert(command.url, `The server did not start: ${command.log}`);
    await using bystanders = await rawPair(command.url, "bystanders");
    const { agent, computer } = bystanders;
    computer.handle(CALL, (payload, ack) => ack({ echo: payload }));
    await test(command.url);
    assertEquals(await agent.ask(CALL, REQUEST), { echo: REQUEST });
    await computer.request("notify:barrier");
    assertEquals([agent.heard, computer.heard], [[], []]);
    assert(!/TypeError|RangeError|\[ERR\]/.test(command.log), command.log);
  });
}

testVictim(
  "60 malformed payloads per event: each requested ack is sent, and other clients are unharmed",
  async (url) => {
    await using pair = await rawPair(url, "office");
    await using outsider = await connectRaw(url);
    const { agent, computer } = pair;
    for (const event of Object.keys(CLIENT_EVENTS)) {
      computer.handle(event, (_payload, ack) => ack({ ok: true }));
    }
    const events = [
      ...Object.keys(CLIENT_EVENTS),
      ...Object.keys(SERVER_EVENTS),
    ];
    for (const [seed, event] of events.entries()) {
      const payloads = hostilePayloads(REQUEST, 60, seed);
      for (const sender of [outsider, agent, computer]) {
        const answers = await Promise.all([
          sender.request(event),
          ...payloads.map((payload) => sender.request(event, payload)),
          ...payloads.map((payload) => sender.request(event, payload, payload)),
        ]);
        assertEquals(answers.length, 121);
        const office = event === "server:join_office" ||
          event === "server:leave_office";
        for (const [first, second, ...more] of answers) {
          assertEquals(more, []);
          if (office) {
            assertEquals(typeof first, "boolean");
            assertEquals(first === true, second === null);
          } else if (first !== undefined) {
            assertEquals([typeof first, second], ["object", undefined]);
          }
        }
        // The same without acks: nothing waits, nothing fails.
        for (const payload of payloads) sender.socket.emit(event, payload);
        sender.socket.emit(event);
      }
      await agent.join("agent", "agent", "office");
      await computer.join("computer", "computer", "office");
    }
  },
);

testVictim("garbage frames at most close their sender", async (url) => {
  const random = seeded(7);
  const alphabet = '0123456789-/smcp,[]{}":\\\u0000\uffffab_';
  const garbage = Array.from({ length: 60 }, () => {
    const characters = Array.from(
      { length: random() * 40 },
      () => alphabet[Math.floor(random() * alphabet.length)],
    );
    return "4" + characters.join("");
  });
  const frames: (string | Uint8Array<ArrayBuffer>)[] = [
    ...["", "0", "1", "2", "5", "6", "9", "4", "40", "40/smcp", "40/smcp,"],
    ...["40/smcp,{", "40/smcp,[]", "40/other,{}", "41/smcp,{}", "42/smcp,"],
    ...["42/smcp,{}", '42["client:tool_call"]', "42/smcp,[]", "42/smcp,[null]"],
    ...['42/smcp,["connect"]', '42/smcp,["disconnecting"]', "42/smcp,[7,{}]"],
    ...['42/smcp,["newListener",1]', '42/smcp,["error",{"a":1}]'],
    '4299999999999999999999/smcp,["x"]',
    '42/smcp,99999999999999999999["client:tool_call",{}]',
    ...["43/smcp,", "43/smcp,1", "43/smcp,1[]", "43/smcp,0[{}]"],
    ...["43/smcp,-1[{}]", "44/smcp,{}", '45/smcp,["x"]', '4599-/smcp,["x"]'],
    '451-/smcp,["client:tool_call",{"_placeholder":true,"num":9}]',
    '451-/smcp,["client:tool_call",{"_placeholder":true,"num":"__proto__"}]',
    "461-/smcp,1[]",
    new Uint8Array([1, 2, 3]),
    ...garbage,
  ];
  for (const frame of frames) {
    await using raw = await RawFrames.open(url, "/smcp");
    raw.send(frame);
    raw.send(new Uint8Array([4]));
    raw.send('42/smcp,1["notify:barrier"]');
    await Promise.race([raw.closed, raw.frame("43/smcp,1[]").catch(() => {})]);
  }
  // Frames of all kinds over polling: one request with several packets.
  const polling = await RawPolling.open(url);
  await polling.post(["40/smcp,", "42/smcp,[", "bAAAA", "", "4"]);
});

testVictim(
  "events with unusual names are acked with 400: numbers, error, prototype keys",
  async (url) => {
    await using raw = await RawFrames.open(url, "/smcp");
    const names = [
      "7",
      '"error"',
      '"__proto__"',
      '"constructor"',
      '""',
      "-1.5",
    ];
    for (const [id, name] of names.entries()) {
      raw.send(`42/smcp,${id}[${name},{"__proto__":{"polluted":1}}]`);
      assertMatch(await raw.frame(`43/smcp,${id}[`), /"code":400/);
    }
  },
);

testVictim(
  "64 levels of nesting pass, to the computer and back; one more closes the sender",
  async (url) => {
    await using agent = await joinRaw(url, "agent", "agent", "deep");
    // The event's own array, its payload and "params" are three of the 64.
    const request = (depth: number) => ({
      ...REQUEST,
      params: { a: nested(depth - 3) },
    });
    {
      await using computer = await joinRaw(url, "computer", "computer", "deep");
      let seen: unknown;
      computer.handle(CALL, (payload, ack) => {
        seen = payload;
        ack({ content: nested(62) });
      });
      const answer = await agent.ask(CALL, request(64));
      assertEquals(answer, { content: nested(62) });
      assertEquals(seen, request(64));
      // A computer whose ack is deeper is closed, and its caller is answered.
      const gone = computer.disconnected();
      computer.handle(
        CALL,
        (_payload, ack) => ack({ content: nested(63) }),
      );
      const { code, reason } = Object(await agent.ask(CALL, request(5)));
      assertEquals([code, reason], [404, "computer disconnected"]);
      await gone;
    }
    const gone = agent.disconnected();
    agent.socket.emit(CALL, request(65));
    await gone;
  },
);

testVictim(
  "100,000 nested brackets close the sender, in events, acks and connects, over both transports",
  async (url) => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const objects = '{"a":'.repeat(100_000) + "1" + "}".repeat(100_000);
    for (
      const frame of [
        `42/smcp,1["client:tool_call",${deep}]`,
        `42/smcp,1["client:tool_call",${objects}]`,
        `43/smcp,1[${deep}]`,
        `451-/smcp,1["client:tool_call",${deep}]`,
        `40/smcp,{"a":${deep}}`,
        `40/smcp",{"a":${deep}}`,
      ]
    ) {
      await using raw = await RawFrames.open(url, "/smcp");
      raw.send(frame);
      await raw.closed;
    }
    const polling = await RawPolling.open(url);
    // The server may cut the request off before it has answered it.
    await polling.post(["40/smcp,", `42/smcp,1["client:tool_call",${deep}]`])
      .catch(() => {});
    // Earlier packets are still delivered; then the session has ended.
    let polls = 0;
    while ((await polling.get()).status !== 400) {
      assert(++polls < 4, "the session is closed");
    }
  },
);

testVictim(
  "a million elements in an event or an ack close the sender",
  async (url) => {
    const many = "0,".repeat(1_000_000) + "0";
    for (
      const frame of [
        `42/smcp,1["client:tool_call",${many}]`,
        `43/smcp,1[${many}]`,
      ]
    ) {
      await using raw = await RawFrames.open(url, "/smcp");
      raw.send(frame);
      await raw.closed;
    }
    await using agent = await joinRaw(url, "agent", "agent", "wide");
    await using computer = await joinRaw(url, "computer", "computer", "wide");
    computer.handle(
      "client:get_tools",
      (_payload, ack) => ack(...Array.from({ length: 2000 }, () => ({}))),
    );
    // Inside the payload they are fine.
    const wide = { ...REQUEST, more: Array(900).fill(0) };
    for (const request of [REQUEST, wide]) {
      const answer = await agent.ask("client:get_tools", request);
      assertEquals(Object(answer).code, 404);
    }
  },
);

testVictim(
  "a 64 MB message closes the sender with 1009, or is refused with 413",
  async (url) => {
    const huge = "x".repeat(64 * 2 ** 20);
    await using raw = await RawFrames.open(url, "/smcp");
    raw.send(`42/smcp,1["client:tool_call","${huge}"]`);
    assertEquals(await raw.closed, 1009);
    const polling = await RawPolling.open(url);
    const refused = await polling.post(huge)
      .then(({ status }) => status, () => "cut off");
    // 400: cut off, and sent again by the runtime to a session that is gone.
    assert([413, 400, "cut off"].includes(refused), String(refused));
  },
);
