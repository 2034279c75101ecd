import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertThrows,
} from "@std/assert";
import { Buffer } from "node:buffer";
import webPush from "web-push";
import {
  checkSubscription,
  PushChannel,
  type PushOptions,
  vapidHeader,
} from "../../../../computer/approvals/push.ts";
import {
  isPushAddress,
  readPushHost,
} from "../../../../computer/approvals/wake_addresses.ts";
import { randomBytes } from "../../../../shared/approvals/bytes.ts";
import type { PushSubscription } from "../../../../shared/approvals/question.ts";
import { pushExample, RFC_8291 } from "../../../support/approvals/rfc8291.ts";
import {
  Browser,
  PushService,
} from "../../../support/approvals/push_service.ts";
import { captureLog, type LogCapture } from "../../../support/log_capture.ts";

const LEFT_MS = 61_900;
const SENTENCE = "laptop: a tool call waits for your answer";

const warningsOf = ({ records }: LogCapture) =>
  records.filter(({ level }) => level === "warning");

/** A channel to one phone of a push service. */
async function channelTo(
  service: PushService,
  over: Partial<PushOptions> = {},
) {
  const phone = await service.subscribe();
  const forgotten: string[] = [];
  const channel = new PushChannel({
    name: "laptop",
    id: randomBytes(16),
    hosts: [service.host],
    subscriptions: () => [["phone", phone.subscription]],
    forget: (device) => void forgotten.push(device),
    fetch: service.fetch,
    ...over,
  });
  return { phone, channel, forgotten };
}

Deno.test("encryptPush() writes the example of RFC 8291 to the byte", async () => {
  assertEquals(await pushExample(), RFC_8291.body);
  // The browser of the tests, which decrypts below, agrees with the RFC too.
  const browser = await Browser.make("https://push.example/", {
    privateKey: Buffer.from(RFC_8291.uaPrivate, "base64url"),
    auth: Buffer.from(RFC_8291.auth, "base64url"),
  });
  const body = Buffer.from(RFC_8291.body, "base64url");
  assertEquals(browser.decrypt(body).toString(), RFC_8291.plain);
});

Deno.test("a push service gets the message with its headers, verifies the sender, and the browser decrypts it", async () => {
  await using service = await PushService.start();
  const { phone, channel, forgotten } = await channelTo(service);
  await channel.wake(LEFT_MS);
  const [push] = service.pushes;
  assert(push);
  const header = (name: string) => push.headers.get(name);
  assertEquals(push.method, "POST");
  assertEquals(push.path, new URL(phone.subscription.endpoint).pathname);
  assertEquals(header("ttl"), "61");
  assertEquals(header("urgency"), "high");
  assertEquals(header("content-encoding"), "aes128gcm");
  assertMatch(header("topic") ?? "", /^[\w-]{1,32}$/);
  assertEquals(phone.decrypt(push.body).toString(), SENTENCE);
  const claims = await phone.verify(header("authorization") ?? "");
  const hours = (Number(claims.exp) - Date.now() / 1000) / 3600;
  assert(hours > 1 && hours < 24, `${hours} hours`);
  assertMatch(String(claims.sub), /^(https:|mailto:)/);
  assertEquals(forgotten, []);
});

Deno.test("Computers send with the headers and the form of the package web-push", async () => {
  await using service = await PushService.start();
  const { phone, channel } = await channelTo(service);
  const { endpoint, p256dh, auth, vapid } = phone.subscription;
  const point = Buffer.concat([
    Buffer.of(4),
    ...[vapid.x, vapid.y].map((each) => Buffer.from(each ?? "", "base64url")),
  ]);
  const witness = webPush.generateRequestDetails(
    { endpoint, keys: { p256dh, auth } },
    SENTENCE,
    {
      vapidDetails: {
        subject: "https://jsr.io/@a2c-smcp/sdk",
        publicKey: point.toString("base64url"),
        privateKey: vapid.d,
      },
      TTL: 61,
      urgency: "high",
      topic: "a",
      contentEncoding: "aes128gcm",
    },
  );
  await channel.wake(LEFT_MS);
  const [push] = service.pushes;
  assert(push);
  for (const [name, value] of Object.entries<unknown>(witness.headers)) {
    const sent = push.headers.get(name);
    const isOwn = ["authorization", "topic", "content-length"]
      .includes(name.toLowerCase());
    if (isOwn) assert(sent, name);
    else assertEquals(sent, String(value), name);
  }
  const bodies = [push.body, Buffer.from(witness.body)];
  const texts = bodies.map((body) => phone.decrypt(body).toString());
  assertEquals(texts, [SENTENCE, SENTENCE]);
  const claims = [
    await phone.verify(push.headers.get("authorization") ?? ""),
    await phone.verify(witness.headers.Authorization),
  ];
  const names = claims.map((each) => Object.keys(each).sort().join());
  assertEquals(names[0], names[1]);
});

Deno.test("threat 33: a push service sees neither tool, Agent nor arguments, and the same length for each Computer", async () => {
  await using service = await PushService.start();
  const phone = await service.subscribe();
  const names = [
    "a",
    "laptop",
    "名".repeat(300),
    "\u0000".repeat(300),
    "\ud800",
  ];
  for (const name of names) {
    const { channel } = await channelTo(service, {
      name,
      subscriptions: () => [["phone", phone.subscription]],
    });
    await channel.wake(LEFT_MS);
  }
  assertEquals(new Set(service.pushes.map(({ body }) => body.length)).size, 1);
  const seen = service.pushes.map(({ body }) => body.toString("hex"));
  assertEquals(new Set(seen).size, names.length);
  for (const { body, headers } of service.pushes) {
    const text = phone.decrypt(body).toString();
    const [name = ""] = text.split(": a tool call waits for your answer");
    assert(name.length <= 40, text);
    assert(text.endsWith(SENTENCE.slice("laptop".length)), text);
    const said = JSON.stringify([...headers]);
    assert(!said.includes("laptop"), said);
  }
});

Deno.test("threat 32: a Computer posts to push services alone, whatever address a device gives", async () => {
  const requested: string[] = [];
  const base = (await Browser.make("https://fcm.googleapis.com/x"))
    .subscription;
  const wrong = [
    "http://fcm.googleapis.com/x",
    "https://10.0.0.1/x",
    "https://[::1]/x",
    "https://localhost/x",
    "https://169.254.169.254/latest/meta-data",
    "https://fcm.googleapis.com:8443/x",
    "https://fcm.googleapis.com.evil.example/x",
    "https://evil.example/fcm.googleapis.com",
    "https://fcm.googleapis.com@evil.example/x",
    "https://user:word@fcm.googleapis.com/x",
    "https://xfcm.googleapis.com/x",
    "https://push.services.mozilla.com.evil.example/x",
    "https://evilnotify.windows.com/x",
    "https://notify.windows.com/x",
    "https://fcm.googleapis.com./x",
    "https://example.com#.notify.windows.com",
    "https://example.com\\.notify.windows.com",
    "file:///etc/passwd",
    "ws://fcm.googleapis.com/",
    "",
    `https://fcm.googleapis.com/${"x".repeat(3000)}`,
  ];
  for (const endpoint of wrong) {
    assert(!isPushAddress(endpoint), endpoint);
    const subscription = { ...base, endpoint };
    assertThrows(() => checkSubscription(subscription), TypeError, "endpoint");
    const channel = new PushChannel({
      name: "laptop",
      id: randomBytes(16),
      subscriptions: () => [["phone", subscription]],
      forget: () => {},
      fetch: (url) => {
        requested.push(String(url));
        return Promise.resolve(new Response());
      },
    });
    await channel.wake(LEFT_MS);
  }
  assertEquals(requested, []);
});

Deno.test("threat 32: a Computer follows no redirect of a push service, and reads no answer", async () => {
  await using service = await PushService.start();
  using logs = captureLog();
  const { channel } = await channelTo(service);
  let pulled = 0;
  for (const status of [301, 302, 307, 308]) {
    service.answer = () =>
      new Response(null, {
        status,
        headers: { location: `https://${service.host}/elsewhere` },
      });
    await channel.wake(LEFT_MS);
  }
  assertEquals(service.pushes.length, 4);
  assert(service.pushes.every(({ path }) => path.startsWith("/push/")));
  const { channel: other } = await channelTo(service, {
    fetch: () =>
      Promise.resolve(
        new Response(
          new ReadableStream({ pull: () => void pulled++ }, {
            highWaterMark: 0,
          }),
          { status: 201 },
        ),
      ),
  });
  await other.wake(LEFT_MS);
  assertEquals(pulled, 0);
  assertEquals(warningsOf(logs).length, 4);
});

Deno.test("isPushAddress() takes the push services of browsers, and hosts that the owner allows", () => {
  const right = [
    "https://fcm.googleapis.com/fcm/send/x:y",
    "https://updates.push.services.mozilla.com/wpush/v2/x",
    "https://web.push.apple.com/QGuQ",
    "https://wns2-par02p.notify.windows.com/w/?token=x",
    "https://FCM.googleapis.com:443/x",
  ];
  for (const endpoint of right) assert(isPushAddress(endpoint), endpoint);
  const hosts = ["push.example.com", "Local.example:8443", "*.push.example"];
  const allowed = [
    "https://push.example.com/x",
    "https://local.example:8443/x",
    "https://a.push.example/x",
  ];
  for (const endpoint of allowed) {
    assert(isPushAddress(endpoint, hosts), endpoint);
    assert(!isPushAddress(endpoint), endpoint);
  }
  assert(!isPushAddress("https://push.example.com:8443/x", hosts));
  assert(!isPushAddress("https://local.example/x", hosts));
});

Deno.test("readPushHost() takes a host with or without a port, and nothing else", () => {
  const right = [
    "push.example.com",
    "push.example.com:8443",
    "*.push.example.com",
    "10.0.0.1",
  ];
  for (const host of right) assertEquals(readPushHost(host), host);
  assertEquals(readPushHost("Push.Example.com"), "push.example.com");
  const wrong = [
    "",
    "https://push.example.com",
    "push.example.com/",
    "push.example.com:443",
    "me@push.example.com",
    "push.example.com:x",
    "a b",
  ];
  for (const host of wrong) {
    assertThrows(() => readPushHost(host), TypeError, "Expected a host", host);
  }
});

Deno.test("404 and 410 forget a subscription; other failures are logged without its address", async () => {
  await using service = await PushService.start();
  using logs = captureLog();
  const { channel, forgotten, phone } = await channelTo(service);
  for (const status of [200, 201, 204, 400, 401, 403, 413, 429, 500]) {
    service.answer = () => new Response(null, { status });
    await channel.wake(LEFT_MS);
  }
  assertEquals(forgotten, []);
  assertEquals(warningsOf(logs).length, 6);
  for (const status of [404, 410]) {
    service.answer = () => new Response(null, { status });
    await channel.wake(LEFT_MS);
  }
  assertEquals(forgotten, ["phone", "phone"]);
  const gone = new PushChannel({
    name: "laptop",
    id: randomBytes(16),
    hosts: [service.host],
    subscriptions: () => [["phone", phone.subscription]],
    forget: () => {},
    fetch: () => Promise.reject(new TypeError(phone.subscription.endpoint)),
  });
  await gone.wake(LEFT_MS);
  assertEquals(warningsOf(logs).length, 7);
  const secret = new URL(phone.subscription.endpoint).pathname;
  assert(!logs.text.includes(secret), logs.text);
});

Deno.test("one device that cannot be woken leaves the others alone", async () => {
  await using service = await PushService.start();
  using _logs = captureLog();
  const phones = await Promise.all([1, 2, 3].map(() => service.subscribe()));
  const [bad, ...good] = phones.map(({ subscription }) => subscription);
  assert(bad);
  const broken: PushSubscription = {
    ...bad,
    p256dh: Buffer.concat([Buffer.of(4), Buffer.alloc(64)])
      .toString("base64url"),
  };
  const all = [broken, ...good];
  const { channel } = await channelTo(service, {
    subscriptions: () => all.map((each, at) => [String(at), each] as const),
  });
  await channel.wake(LEFT_MS);
  assertEquals(service.pushes.length, 2);
});

Deno.test("messages to two Computers of one phone have other topics, and one Computer's the same", async () => {
  await using service = await PushService.start();
  const phone = await service.subscribe();
  const subscriptions = () => [["phone", phone.subscription]] as const;
  const first = await channelTo(service, { subscriptions });
  const second = await channelTo(service, { subscriptions });
  await first.channel.wake(LEFT_MS);
  await second.channel.wake(LEFT_MS);
  await first.channel.wake(LEFT_MS);
  const [a, b, again] = service.pushes.map((push) => push.headers.get("topic"));
  assertNotEquals(a, b);
  assertEquals(a, again);
});

Deno.test("checkSubscription() names the field that cannot be used", async () => {
  const { subscription } = await Browser.make("https://fcm.googleapis.com/x");
  checkSubscription(subscription);
  const { d: _d, ...publicJwk } = subscription.vapid;
  const wrong: [string, Partial<PushSubscription>][] = [
    ["p256dh", { p256dh: "AAAA" }],
    ["auth", { auth: "AAAA" }],
    ["vapid", { vapid: publicJwk }],
    ["vapid", { vapid: { ...subscription.vapid, crv: "P-384" } }],
    ["vapid", { vapid: { ...subscription.vapid, x: "AAAA" } }],
    ["base64url", { auth: "====" }],
  ];
  for (const [problem, over] of wrong) {
    assertThrows(
      () => checkSubscription({ ...subscription, ...over }),
      TypeError,
      problem,
    );
  }
});

Deno.test("vapidHeader() signs with the device's own key, and for the service's origin alone", async () => {
  const phone = await Browser.make("https://fcm.googleapis.com/fcm/send/x");
  const other = await Browser.make("https://web.push.apple.com/x");
  const header = await vapidHeader(phone.subscription, Date.now());
  const { aud } = await phone.verify(header);
  assertEquals(aud, "https://fcm.googleapis.com");
  await assertRejects(() => other.verify(header));
  assert(!header.includes(phone.subscription.vapid.d ?? ""));
});
