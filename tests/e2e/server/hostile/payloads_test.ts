import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  CLIENT_EVENTS,
  GET_TOOLS_EVENT,
  JOIN_OFFICE_EVENT,
  LEAVE_OFFICE_EVENT,
  SERVER_EVENTS,
  TOOL_CALL_EVENT,
} from "../../../../protocol/mod.ts";
import { ANY_REQUEST } from "../../../support/any_request.ts";
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
import { startServerCommand } from "../../../support/server/server_command.ts";

const REQUEST = { ...ANY_REQUEST, timeout: 60, role: "agent", name: "agent" };

/** A real server process, and two bystanders who must not be affected. */
async function startVictim() {
  // Without limits, or the flood would not get as far as the rest.
  const command = await startServerCommand(["--port", "0", "--no-limits"]);
  assert(command.url, `The server did not start: ${command.log}`);
  const bystanders = await rawPair(command.url, "bystanders");
  const { agent, computer } = bystanders;
  computer.handle(TOOL_CALL_EVENT, (payload, ack) => ack({ echo: payload }));
  return {
    url: command.url,
    /** Asserts that the server works, the bystanders got nothing, and the log has no failure of the server itself. */
    async unharmed() {
      const answer = await agent.ask(TOOL_CALL_EVENT, REQUEST);
      assertEquals(answer, { echo: REQUEST });
      await computer.request("notify:barrier");
      assertEquals([agent.heard, computer.heard], [[], []]);
      assert(!/TypeError|RangeError|\[ERR\]/.test(command.log), command.log);
    },
    async [Symbol.asyncDispose]() {
      await bystanders[Symbol.asyncDispose]();
      await command[Symbol.asyncDispose]();
    },
  };
}

Deno.test({
  name:
    "60 malformed payloads per event: each requested ack is sent, and other clients are unharmed",
  timeout: 120_000,
}, async () => {
  await using victim = await startVictim();
  await using pair = await rawPair(victim.url, "office");
  await using outsider = await connectRaw(victim.url);
  const { agent, computer } = pair;
  for (const event of Object.keys(CLIENT_EVENTS)) {
    computer.handle(event, (_payload, ack) => ack({ ok: true }));
  }
  const events = [...Object.keys(CLIENT_EVENTS), ...Object.keys(SERVER_EVENTS)];
  for (const [seed, event] of events.entries()) {
    const payloads = hostilePayloads(REQUEST, 60, seed);
    for (const sender of [outsider, agent, computer]) {
      const answers = await Promise.all([
        sender.request(event),
        ...payloads.map((payload) => sender.request(event, payload)),
        ...payloads.map((payload) => sender.request(event, payload, payload)),
      ]);
      assertEquals(answers.length, 121);
      const office = event === JOIN_OFFICE_EVENT ||
        event === LEAVE_OFFICE_EVENT;
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
  await victim.unharmed();
});

Deno.test({
  name: "garbage frames at most close their sender",
  timeout: 120_000,
}, async () => {
  await using victim = await startVictim();
  const random = seeded(7);
  const alphabet = '0123456789-/smcp,[]{}":\\\u0000\uffffab_';
  const frames: (string | Uint8Array<ArrayBuffer>)[] = [
    "",
    "0",
    "1",
    "2",
    "5",
    "6",
    "9",
    "4",
    "40",
    "40/smcp",
    "40/smcp,",
    "40/smcp,{",
    "40/smcp,[]",
    "40/other,{}",
    "41/smcp,{}",
    "42/smcp,",
    "42/smcp,{}",
    '42["client:tool_call"]',
    "42/smcp,[]",
    "42/smcp,[null]",
    '42/smcp,["connect"]',
    '42/smcp,["disconnecting"]',
    '42/smcp,["newListener",1]',
    '42/smcp,["error",{"a":1}]',
    "42/smcp,[7,{}]",
    '4299999999999999999999/smcp,["x"]',
    '42/smcp,99999999999999999999["client:tool_call",{}]',
    "43/smcp,",
    "43/smcp,1",
    "43/smcp,1[]",
    "43/smcp,0[{}]",
    "43/smcp,-1[{}]",
    "44/smcp,{}",
    '45/smcp,["x"]',
    '451-/smcp,["client:tool_call",{"_placeholder":true,"num":9}]',
    '451-/smcp,["client:tool_call",{"_placeholder":true,"num":"__proto__"}]',
    '4599-/smcp,["x"]',
    "461-/smcp,1[]",
    new Uint8Array([1, 2, 3]),
    ...Array.from(
      { length: 60 },
      () =>
        "4" + Array.from(
          { length: random() * 40 },
          () => alphabet[Math.floor(random() * alphabet.length)],
        ).join(""),
    ),
  ];
  for (const frame of frames) {
    await using raw = await RawFrames.open(victim.url, "/smcp");
    raw.send(frame);
    raw.send(new Uint8Array([4]));
    raw.send('42/smcp,1["notify:barrier"]');
    await Promise.race([raw.closed, raw.frame("43/smcp,1[]").catch(() => {})]);
  }
  // Frames of all kinds over polling: one request with several packets.
  const query = "smcp/?EIO=4&transport=polling&a2c_version=0.2.0";
  const opened = await fetch(`${victim.url}/${query}`);
  const { sid } = JSON.parse((await opened.text()).slice(1));
  const posted = await fetch(`${victim.url}/${query}&sid=${sid}`, {
    method: "POST",
    body: ["40/smcp,", "42/smcp,[", "bAAAA", "", "4"].join("\x1e"),
  });
  await posted.text();
  await victim.unharmed();
});

Deno.test({
  name:
    "events with unusual names are acked with 400: numbers, error, prototype keys",
  timeout: 120_000,
}, async () => {
  await using victim = await startVictim();
  await using raw = await RawFrames.open(victim.url, "/smcp");
  const names = ["7", '"error"', '"__proto__"', '"constructor"', '""', "-1.5"];
  for (const [id, name] of names.entries()) {
    raw.send(`42/smcp,${id}[${name},{"__proto__":{"polluted":1}}]`);
    assertMatch(await raw.frame(`43/smcp,${id}[`), /"code":400/);
  }
  await victim.unharmed();
});

Deno.test({
  name:
    "64 levels of nesting pass, to the computer and back; one more closes the sender",
  timeout: 120_000,
}, async () => {
  await using victim = await startVictim();
  await using agent = await joinRaw(victim.url, "agent", "agent", "deep");
  // The event's own array, its payload and "params" are three of the 64.
  const request = (depth: number) => ({
    ...REQUEST,
    params: { a: nested(depth - 3) },
  });
  {
    await using computer = await joinRaw(
      victim.url,
      "computer",
      "computer",
      "deep",
    );
    let seen: unknown;
    computer.handle(TOOL_CALL_EVENT, (payload, ack) => {
      seen = payload;
      ack({ content: nested(62) });
    });
    const answer = await agent.ask(TOOL_CALL_EVENT, request(64));
    assertEquals(answer, { content: nested(62) });
    assertEquals(seen, request(64));
    // A computer whose ack is deeper is closed, and its caller is answered.
    const gone = computer.disconnected();
    computer.handle(
      TOOL_CALL_EVENT,
      (_payload, ack) => ack({ content: nested(63) }),
    );
    const { code, reason } = await agent.ask(
      TOOL_CALL_EVENT,
      request(5),
    ) as Record<string, unknown>;
    assertEquals([code, reason], [404, "computer disconnected"]);
    await gone;
  }
  const gone = agent.disconnected();
  agent.socket.emit(TOOL_CALL_EVENT, request(65));
  await gone;
  await victim.unharmed();
});

Deno.test({
  name:
    "100,000 nested brackets close the sender, in events, acks and connects, over both transports",
  timeout: 120_000,
}, async () => {
  await using victim = await startVictim();
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
    await using raw = await RawFrames.open(victim.url, "/smcp");
    raw.send(frame);
    await raw.closed;
  }
  const query = "smcp/?EIO=4&transport=polling&a2c_version=0.2.0";
  const opened = await fetch(`${victim.url}/${query}`);
  const { sid } = JSON.parse((await opened.text()).slice(1));
  const later = `${victim.url}/${query}&sid=${sid}`;
  const body = `40/smcp,\x1e42/smcp,1["client:tool_call",${deep}]`;
  // The server may cut the request off before it has answered it.
  await fetch(later, { method: "POST", body }).then((r) => r.text(), () => {});
  // Earlier packets are still delivered; then the session has ended.
  const statuses: number[] = [];
  while (statuses.at(-1) !== 400) {
    const poll = await fetch(later);
    await poll.text();
    statuses.push(poll.status);
    assert(statuses.length < 4, "the session is closed");
  }
  await victim.unharmed();
});

Deno.test({
  name: "a million elements in an event or an ack close the sender",
  timeout: 120_000,
}, async () => {
  await using victim = await startVictim();
  const many = "0,".repeat(1_000_000) + "0";
  for (
    const frame of [
      `42/smcp,1["client:tool_call",${many}]`,
      `43/smcp,1[${many}]`,
    ]
  ) {
    await using raw = await RawFrames.open(victim.url, "/smcp");
    raw.send(frame);
    await raw.closed;
  }
  await using agent = await joinRaw(victim.url, "agent", "agent", "wide");
  await using computer = await joinRaw(
    victim.url,
    "computer",
    "computer",
    "wide",
  );
  computer.handle(
    GET_TOOLS_EVENT,
    (_payload, ack) => ack(...Array.from({ length: 2000 }, () => ({}))),
  );
  const answer = await agent.ask(GET_TOOLS_EVENT, REQUEST);
  assertEquals((answer as { code: number }).code, 404);
  // Inside the payload they are fine.
  const wide = { ...REQUEST, more: Array.from({ length: 5000 }, () => 0) };
  assertEquals(
    (await agent.ask(GET_TOOLS_EVENT, wide) as { code: number }).code,
    404,
  );
  await victim.unharmed();
});

Deno.test({
  name: "a 64 MB message closes the sender with 1009, or is refused with 413",
  timeout: 120_000,
}, async () => {
  await using victim = await startVictim();
  const huge = "x".repeat(64 * 2 ** 20);
  await using raw = await RawFrames.open(victim.url, "/smcp");
  raw.send(`42/smcp,1["client:tool_call","${huge}"]`);
  assertEquals(await raw.closed, 1009);
  const query = "smcp/?EIO=4&transport=polling&a2c_version=0.2.0";
  const opened = await fetch(`${victim.url}/${query}`);
  const { sid } = JSON.parse((await opened.text()).slice(1));
  const refused = await fetch(`${victim.url}/${query}&sid=${sid}`, {
    method: "POST",
    body: huge,
  }).then(async (response) => {
    await response.text();
    return response.status;
  }, () => "cut off");
  // 400: cut off, and sent again by the runtime to a session that is gone.
  assert([413, 400, "cut off"].includes(refused), String(refused));
  await victim.unharmed();
});
