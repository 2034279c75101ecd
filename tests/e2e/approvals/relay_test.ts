/** The Server's part of approvals: requests of devices over HTTP, to a Computer over the wire. */
import { assert, assertEquals } from "@std/assert";
import { approvals } from "@a2c-smcp/server/approvals";
import { apiKeys, createSmcpServer } from "../../../server/mod.ts";
import {
  answerOf,
  newDevice,
  postDevice,
  RelayedComputer,
} from "../../support/approvals/relayed.ts";
import { captureLog } from "../../support/log_capture.ts";
import { modulesOf } from "../../support/modules.ts";
import { startFetchServer } from "../../support/server/fetch_server.ts";
import {
  startWireServer,
  type WireServer,
} from "../../support/server/wire_server.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";

/** Starts a Server with approvals. */
const start = (): Promise<WireServer> =>
  startWireServer({ approvals: approvals() });

/** A Server behind `node:http`, and one behind `fetch`. */
const WAYS = {
  "node:http": start,
  fetch: () => Promise.resolve(startFetchServer({ approvals: approvals() })),
};

for (const [way, startServer] of Object.entries(WAYS)) {
  Deno.test(`a device's bytes pass the Server, and the Computer's answer comes back [${way}]`, async () => {
    await using server = await startServer();
    const phone = await newDevice();
    const tablet = await newDevice("tablet");
    await using computer = await RelayedComputer.join(server.url, [
      phone,
      tablet,
    ], { name: "my laptop", office: "büro" });
    const path = "/approve/v1/b%C3%BCro/my%20laptop";
    const response = await postDevice(server.url, tablet.token, "héllo", {
      path,
    });
    const { status, headers, text } = await answerOf(response);
    assertEquals([status, text], [200, "yes to héllo"]);
    for (
      const [name, value] of Object.entries({
        "content-type": "application/octet-stream",
        "cache-control": "no-store",
        "access-control-allow-origin": "*",
      })
    ) assertEquals(headers[name], value);
    assertEquals(headers["access-control-allow-credentials"], undefined);
    const { req_id, body, ...rest } = computer.asked[0] ?? {};
    assertEquals([typeof req_id, body], ["string", "aMOpbGxv"]);
    assertEquals(rest, {
      agent: "device",
      computer: "my laptop",
      device: "tablet",
    });
  });

  Deno.test(`the largest request and answer pass, and one byte more is 413 [${way}]`, async () => {
    await using server = await startServer();
    const phone = await newDevice();
    const long = "x".repeat(524_288);
    const answering = () => long;
    await using computer = await RelayedComputer.join(server.url, [phone], {
      answering,
    });
    const most = new Uint8Array(65_536);
    const good = await answerOf(
      await postDevice(server.url, phone.token, most),
    );
    assertEquals([good.status, good.text.length], [200, long.length]);
    for (
      const body of [
        new Uint8Array(65_537),
        new Blob([new Uint8Array(65_537)]).stream(), // of unknown length
      ]
    ) {
      const response = await fetch(`${server.url}/approve/v1/north/laptop`, {
        method: "POST",
        headers: { Authorization: `Bearer ${phone.token}` },
        body,
      });
      assertEquals((await answerOf(response)).status, 413);
    }
    assertEquals(computer.asked.length, 1);
  });

  Deno.test(`threat 34: whatever is wrong is the same 404, headers and all [${way}]`, async () => {
    await using server = await startServer();
    const phone = await newDevice();
    const other = await newDevice();
    await using computer = await RelayedComputer.join(server.url, [phone]);
    await using agent = await joinRaw(server.url, "agent", "planner", "north");
    await using bare = await joinRaw(server.url, "computer", "bare", "north");
    const send = (token: string | undefined, path?: string, init = {}) =>
      postDevice(server.url, token, "x", {
        ...(path !== undefined && { path }),
        ...init,
      });
    const { token } = phone;
    const headers = { Authorization: `Basic ${token}` };
    const wrong = {
      token: send(other.token),
      verifier: send(phone.verifier),
      "no token": send(undefined),
      "short token": send("abc"),
      scheme: send(undefined, undefined, { headers }),
      office: send(token, "/approve/v1/south/laptop"),
      Computer: send(token, "/approve/v1/north/desktop"),
      "Computer without devices": send(token, "/approve/v1/north/bare"),
      Agent: send(token, "/approve/v1/north/planner"),
      "nothing more": send(token, "/approve/v1/"),
      "no Computer": send(token, "/approve/v1/north"),
      "empty names": send(token, "/approve/v1//"),
      "one more": send(token, "/approve/v1/north/laptop/x"),
      slash: send(token, "/approve/v1/north/laptop/"),
      encoding: send(token, "/approve/v1/north/%ff"),
      control: send(token, "/approve/v1/north/%00"),
      method: send(token, undefined, { method: "PUT" }),
    };
    const answers = await Promise.all(
      Object.entries(wrong).map(async ([name, response]) =>
        [name, await answerOf(await response)] as const
      ),
    );
    const [, first] = answers[0] ?? [];
    assertEquals(first?.status, 404);
    assertEquals(first?.text, '{"code":404,"message":"Not found"}');
    for (const [name, answer] of answers) assertEquals(answer, first, name);
    assertEquals(computer.asked, []);
    await agent.request("notify:barrier");
    assertEquals([agent.heard.length, bare.heard.length], [1, 0]); // "bare" entered
  });
}

Deno.test("any page may send a request, without credentials of the browser", async () => {
  await using server = await start();
  const response = await fetch(`${server.url}/approve/v1/north/laptop`, {
    method: "OPTIONS",
    headers: {
      Origin: "https://approve.example",
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "authorization,content-type",
    },
  });
  const { status, headers } = await answerOf(response);
  assertEquals(status, 204);
  assertEquals(headers["access-control-allow-origin"], "*");
  assertEquals(headers["access-control-allow-methods"], "POST");
  assertEquals(
    headers["access-control-allow-headers"],
    "Authorization, Content-Type",
  );
  assertEquals(headers["access-control-allow-credentials"], undefined);
  const phone = await newDevice();
  await using _ = await RelayedComputer.join(server.url, [phone]);
  const sent = await postDevice(server.url, phone.token, "x", {
    headers: { Origin: "https://a.example", "Sec-Fetch-Site": "cross-site" },
  });
  assertEquals((await answerOf(sent)).status, 200);
});

Deno.test("a device has two requests at a time: a poll and an answer; then 429 says when", async () => {
  await using server = await start();
  const phone = await newDevice();
  await using computer = await RelayedComputer.join(server.url, [phone]);
  const gone = new AbortController();
  const { signal } = gone;
  const polls = [0, 1].map(() =>
    postDevice(server.url, phone.token, "wait", { signal })
  );
  await computer.got(2);
  const { status, headers, text } = await answerOf(
    await postDevice(server.url, phone.token, "third"),
  );
  assertEquals([status, headers["retry-after"]], [429, "1"]);
  assertEquals(text, '{"code":429,"message":"Too many requests"}');
  assertEquals(headers["access-control-expose-headers"], "Retry-After");
  // Clients that are gone have no request any more.
  gone.abort();
  await Promise.allSettled(polls);
  while (true) {
    const again = await postDevice(server.url, phone.token, "again");
    await again.body?.cancel();
    if (again.status === 200) break;
    assertEquals(again.status, 429);
  }
});

Deno.test("a Computer that leaves, and a device that is removed, end the polls of devices with the 404", async () => {
  await using server = await start();
  const phone = await newDevice();
  const tablet = await newDevice("tablet");
  await using computer = await RelayedComputer.join(server.url, [
    phone,
    tablet,
  ]);
  const polls = [phone, tablet].map(async ({ token }) =>
    await answerOf(await postDevice(server.url, token, "wait"))
  );
  await computer.got(2);
  assertEquals(await computer.update([phone]), { devices: 1 });
  assertEquals((await polls[1])?.status, 404);
  await computer.raw.request("server:leave_office", { office_id: "north" });
  assertEquals(await polls[0], await polls[1]);
});

Deno.test("a Server that shuts down ends polls at once, and says when to try again", async () => {
  const server = createSmcpServer({ approvals: approvals() });
  const { url } = await server.listen();
  const phone = await newDevice();
  await using computer = await RelayedComputer.join(url, [phone]);
  const poll = postDevice(url, phone.token, "wait");
  await computer.got(1);
  const closed = server.close({ graceMs: 60_000 });
  const { status, headers } = await answerOf(await poll);
  assertEquals([status, headers["retry-after"]], [503, "1"]);
  await closed;
});

Deno.test("an address with many wrong tokens gets 429", async () => {
  await using server = await start();
  const other = await newDevice();
  assertEquals([...new Set(await wrongTokens(server.url, 60))], [404]);
  const last = await answerOf(await postDevice(server.url, other.token, ""));
  if (last.status === 404) return; // the minute may turn once
  assertEquals([last.status, last.headers["retry-after"]], [429, "60"]);
});

Deno.test("whoever sends wrong tokens locks no phone out that is behind the same address", async () => {
  await using server = await start();
  const phone = await newDevice();
  const tablet = await newDevice("tablet");
  await using computer = await RelayedComputer.join(server.url, [
    phone,
    tablet,
  ]);
  const status = async (token: string) =>
    (await answerOf(await postDevice(server.url, token, "a"))).status;
  assertEquals(await status(phone.token), 200);
  await wrongTokens(server.url, 90);
  assertEquals(await status(phone.token), 200);
  // Nor do phones whose Computer is out for a while.
  await computer.update([phone]);
  assertEquals(await status(phone.token), 200);
  await computer.update([]);
  assertEquals(await status(phone.token), 404);
  await computer.update([phone]);
  assertEquals(await status(phone.token), 200);
});

Deno.test("a device whose Computer is out has tries of its own: it locks itself out alone", async () => {
  await using server = await start();
  const lost = await newDevice("lost");
  const phone = await newDevice();
  await using computer = await RelayedComputer.join(server.url, [lost, phone]);
  const status = async (token: string) =>
    (await answerOf(await postDevice(server.url, token, "a"))).status;
  assertEquals(await status(lost.token), 200);
  await computer.update([phone]);
  const statuses: number[] = [];
  for (let i = 0; i < 130; i++) statuses.push(await status(lost.token));
  assertEquals([...new Set(statuses)].toSorted(), [404, 429]);
  assertEquals(await status(phone.token), 200);
});

Deno.test("phones that wait behind one address are no wrong tokens, however many", async () => {
  await using server = await start();
  const offices = Array.from({ length: 5 }, (_, i) => `office-${i}`);
  const devices = await Promise.all(
    Array.from({ length: 8 }, (_, i) => newDevice(`phone-${i}`)),
  );
  const end = new AbortController();
  const computers: RelayedComputer[] = [];
  const waiting: Promise<unknown>[] = [];
  for (const office of offices) {
    const own = { office, name: "laptop" };
    const computer = await RelayedComputer.join(server.url, devices, own);
    computers.push(computer);
    const path = `/approve/v1/${office}/laptop`;
    for (const { token } of devices) {
      const first = await postDevice(server.url, token, "a", { path });
      assertEquals(first.status, 200);
      await first.body?.cancel();
      for (let i = 0; i < 2; i++) {
        const init = { path, signal: end.signal };
        waiting.push(
          postDevice(server.url, token, "wait", init).catch(() => {}),
        );
      }
    }
    await computer.got(24);
  }
  const late = await newDevice("late");
  await using _ = await RelayedComputer.join(server.url, [late]);
  const { status } = await answerOf(
    await postDevice(server.url, late.token, "a"),
  );
  end.abort();
  await Promise.all(waiting);
  for (const each of computers) await each[Symbol.asyncDispose]();
  assertEquals(status, 200);
});

/** Sends a number of wrong tokens; returns the statuses. */
async function wrongTokens(url: string, count: number): Promise<number[]> {
  const { token } = await newDevice();
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) {
    statuses.push((await answerOf(await postDevice(url, token, ""))).status);
  }
  return statuses;
}

Deno.test("the log has who asked, at most once a minute, and refusals; never a token, a verifier or a body", async () => {
  await using server = await start();
  using captured = captureLog();
  const phone = await newDevice();
  const other = await newDevice();
  await using _ = await RelayedComputer.join(server.url, [phone]);
  for (const token of [phone.token, other.token, phone.token, other.token]) {
    await answerOf(await postDevice(server.url, token, "a secret body"));
  }
  const lines = captured.audit.filter(({ event }) =>
    event === "device_asked" || event === "handshake_refused"
  );
  const [{ ms, ...asked } = {} as Record<string, unknown>, refused] = lines;
  assertEquals(typeof ms, "number");
  assertEquals(asked, {
    event: "device_asked",
    office: "north",
    computer: "laptop",
    device: "phone",
    bytes: 33,
  });
  assertEquals(refused, {
    event: "handshake_refused",
    code: 404,
    reason: "not the token of a device of that Computer",
    address: "127.0.0.1",
  });
  assertEquals(lines.length, 2);
  for (
    const secret of [
      phone.token,
      phone.verifier,
      other.token,
      other.verifier,
      "a secret body",
      btoa("a secret body"),
    ]
  ) assert(!captured.text.includes(secret), secret);
});

Deno.test("threat 10: an operator can neither send client:device nor see devices and their requests", async () => {
  const key = "ops-key-0123456789";
  await using server = await startWireServer({
    approvals: approvals(),
    authenticator: apiKeys([
      { id: "pc", key: "pc-key-0123456789", roles: ["computer"] },
      { id: "ops", key, roles: ["operator"] },
    ]),
  });
  const phone = await newDevice();
  const auth = { api_key: "pc-key-0123456789" };
  const { url } = server;
  await using computer = await RelayedComputer.join({ url, auth }, [phone]);
  const gone = new AbortController();
  const poll = postDevice(url, phone.token, "wait", { signal: gone.signal });
  await computer.got(1);
  const operate = async (path: string, init: RequestInit = {}) => {
    const headers = { Authorization: `Bearer ${key}` };
    const response = await fetch(`${url}/operator/v1${path}`, {
      headers,
      ...init,
    });
    return await response.text();
  };
  for (
    const path of [
      "/offices",
      "/offices/north",
      "/members",
      "/calls",
      "/server",
      "/offices/north/computers/laptop",
    ]
  ) {
    const text = await operate(path);
    for (const hidden of [phone.verifier, phone.token, "d2FpdA=="]) {
      assert(!text.includes(hidden), `${path}: ${text}`);
    }
  }
  const schema = await operate("/openapi.json");
  assert(!schema.includes("client:device"));
  // An operator's key is no device's token.
  assertEquals((await answerOf(await postDevice(url, key, "x"))).status, 404);
  assertEquals(computer.asked.length, 1);
  gone.abort();
  await poll.catch(() => {});
});

Deno.test("without approvals nothing of them is loaded, and every path is the usual 404", async () => {
  for (
    const file of [
      ...["server/mod.ts", "server/fetch/mod.ts", "server/workers/mod.ts"],
      ...["server/cli/serve.ts", "server/cli/up_server.ts", "main.ts"],
    ]
  ) {
    const modules = await modulesOf(file, { dynamic: false });
    const loaded = modules.filter((name) =>
      /^(server\/approvals|shared\/approvals|console\/approve)/.test(name)
    );
    assertEquals(loaded, [], file);
  }
  // Would be found if they were loaded.
  const all = await modulesOf("server/cli/serve.ts", { dynamic: true });
  assert(all.includes("server/approvals/device_routes.ts"));
  assert(all.includes("console/approve.ts"));

  await using server = await startWireServer();
  const phone = await newDevice();
  await using computer = await RelayedComputer.join(server.url, [phone]);
  const unknown = await answerOf(await fetch(`${server.url}/nothing`));
  for (const path of ["/approve", "/approve/", "/approve/approve.js"]) {
    assertEquals(await answerOf(await fetch(server.url + path)), unknown, path);
  }
  const sent = await answerOf(await postDevice(server.url, phone.token, "x"));
  assertEquals(sent, unknown);
  assertEquals(await computer.update([phone]), {
    code: 400,
    message: 'Unknown event "server:update_devices"',
  });
});
