import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  NotifyChannel,
  type NotifyOptions,
} from "../../../../computer/approvals/notify.ts";
import { readNotifyUrl } from "../../../../computer/approvals/wake_addresses.ts";
import { shortenTimers } from "../../../support/timers.ts";

/** A service on loopback that keeps what it gets. */
function service(answer: () => Response | Promise<Response>) {
  const got: { headers: Headers; body: string; url: string }[] = [];
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: () => {},
  }, async (request) => {
    got.push({
      headers: new Headers(request.headers),
      body: await request.text(),
      url: request.url,
    });
    return await answer();
  });
  const url = new URL(`http://localhost:${server.addr.port}/my-topic`);
  return {
    got,
    url,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const ok = () => new Response("{}", { status: 200 });

const channel = (url: URL, over: Partial<NotifyOptions> = {}) =>
  new NotifyChannel({ url, name: "laptop", ...over });

Deno.test("--notify-url gets one sentence as plain text, with the address of the page, as ntfy takes it", async () => {
  await using ntfy = service(ok);
  const page = "https://approve.example/approve";
  await channel(ntfy.url, { page: () => page }).wake();
  const [{ headers, body, url } = {}] = ntfy.got;
  assertEquals(
    body,
    `laptop: a tool call waits for your answer\n${page}`,
  );
  assertEquals(headers?.get("content-type"), "text/plain; charset=utf-8");
  assertEquals(headers?.get("click"), page);
  assertEquals(url, ntfy.url.href);
});

Deno.test("--notify-url gets no address where there is no page, and never what follows # in one", async () => {
  await using ntfy = service(ok);
  await channel(ntfy.url).wake();
  const link = "https://approve.example/approve#1.SECRET";
  await channel(ntfy.url, { page: () => link }).wake();
  assertEquals(ntfy.got.map(({ body }) => body), [
    "laptop: a tool call waits for your answer",
    "laptop: a tool call waits for your answer\nhttps://approve.example/approve",
  ]);
  assertEquals(ntfy.got.map(({ headers }) => headers.get("click")), [
    null,
    "https://approve.example/approve",
  ]);
});

Deno.test("a name and password in --notify-url are sent as a header", async () => {
  await using ntfy = service(ok);
  const url = new URL(ntfy.url);
  url.username = "me";
  url.password = "pä ss:@";
  await channel(readNotifyUrl(url.href)).wake();
  const [{ headers, url: requested } = {}] = ntfy.got;
  const [scheme, pair = ""] = headers?.get("authorization")?.split(" ") ?? [];
  assertEquals(scheme, "Basic");
  assertEquals(
    new TextDecoder().decode(Uint8Array.fromBase64(pair)),
    "me:pä ss:@",
  );
  assertEquals(requested, ntfy.url.href);
});

Deno.test("a failure of --notify-url names the host and the status, never the path, which is as good as a password", async () => {
  const answers = [500, 403, 302].map((status) =>
    new Response(null, { status, headers: { location: "/elsewhere" } })
  );
  await using ntfy = service(() => answers.shift() ?? ok());
  const failures: Error[] = [];
  for (const status of [500, 403, 302]) {
    const failure = await assertRejects(() => channel(ntfy.url).wake(), Error);
    assert(failure.message.includes(String(status)), failure.message);
    failures.push(failure);
  }
  assertEquals(ntfy.got.length, 3, "no redirect is followed");
  const nobody = new URL("http://localhost:1/my-topic");
  failures.push(await assertRejects(() => channel(nobody).wake(), Error));
  for (const { message } of failures) {
    assert(message.includes("localhost"), message);
    assert(!message.includes("my-topic"), message);
  }
});

Deno.test("--notify-url has ten seconds to answer", async () => {
  const never = Promise.withResolvers<Response>();
  await using ntfy = service(() => never.promise);
  using timers = shortenTimers(10_000, 50);
  await assertRejects(() => channel(ntfy.url).wake());
  assertEquals(timers.armed, [10_000]);
  never.resolve(ok());
});

Deno.test("readNotifyUrl() takes https, and http on this machine alone", () => {
  const right = [
    "https://ntfy.sh/topic",
    "https://me:word@ntfy.example:8443/topic?auth=x",
    "http://localhost:8080/topic",
    "http://127.0.0.1/topic",
    "http://[::1]:8080/",
  ];
  for (const text of right) assertEquals(readNotifyUrl(text).href, text);
  const wrong = [
    "",
    "ntfy.sh/topic",
    "http://ntfy.sh/topic",
    "http://192.168.1.2/topic",
    "http://localhost.example/",
    "ftp://localhost/",
    "file:///tmp/x",
    "javascript:alert(1)",
    "https://%zz:x@ntfy.sh/",
  ];
  for (const text of wrong) {
    const { message } = assertThrows(() => readNotifyUrl(text), TypeError);
    assert(message.includes("https://ntfy.sh/TOPIC"), message);
  }
});
