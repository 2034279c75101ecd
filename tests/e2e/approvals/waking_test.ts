/** How a person learns that a call waits: by a command's `--notify-url`, and by Web Push from the Computer. */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import * as approvals from "../../../computer/approvals/approvals.ts";
import { PushChannel } from "../../../computer/approvals/push.ts";
import { Waker } from "../../../computer/approvals/waker.ts";
import { PersonsDevices } from "../../../computer/cli/control/persons_devices.ts";
import {
  beginPairing,
  poll,
  type Send,
} from "../../../shared/approvals/device.ts";
import { readLink } from "../../../shared/approvals/pairing.ts";
import {
  type Browser,
  PushService,
} from "../../support/approvals/push_service.ts";
import { Side, TARGET } from "../../support/approvals/side.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { confirmRequest } from "../../support/approvals/confirm_request.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { openPage, pageLink } from "../../support/computer/page_client.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { startOffice } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

const SENTENCE = "pc: a tool call waits for your answer";

/** A service of the owner's that keeps what is posted. */
function owned() {
  const posted: string[] = [];
  const first = Promise.withResolvers<void>();
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: () => {},
  }, async (request) => {
    posted.push(await request.text());
    first.resolve();
    return new Response();
  });
  return {
    posted,
    first: first.promise,
    url: `http://127.0.0.1:${server.addr.port}/topic-of-mine`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("--notify-url gets one sentence when a call waits, and nothing of the call", async () => {
  await using service = owned();
  await using home = await scratch();
  await using office = await startOffice();
  await using config = await configFile({
    servers: { files: fixture({ only: ["echo"] }) },
  });
  await using computer = runComputer(office, config.file, {
    flags: ["--ui", "--notify-url", service.url],
    env: { XDG_STATE_HOME: home.path },
  });
  await using page = await openPage(await pageLink(computer));
  await page.until(({ computer }) => computer.tools.length === 1);
  await office.agent.toolsSettled();
  const call = office.agent.callTool("pc", "echo", { text: "secret words" });
  await service.first;
  const [question] =
    (await page.until(({ questions }) => questions.length === 1)).questions;
  await page.ask(`/questions/${question?.id}`, { answer: "no" });
  const { isError } = await call.catch(() => ({ isError: true }));
  assert(isError);
  assertEquals(service.posted, [SENTENCE]);
  assert(!computer.lines.join("\n").includes("topic-of-mine"));
});

/** Lets a Computer of the tests wake its devices as `smcp-computer run` does, after a moment. */
function wakes(side: Side, service: PushService) {
  const forgotten = Promise.withResolvers<void>();
  const waker = new Waker({ delayMs: 1 });
  waker.use(
    new PushChannel({
      name: "laptop",
      id: side.approvals.id,
      hosts: [service.host],
      subscriptions: () => side.approvals.subscriptions(),
      forget: async (device, push) => {
        await side.approvals.forgetPush(device, push);
        forgotten.resolve();
      },
      fetch: service.fetch,
    }),
  );
  side.approvals.watch = waker;
  return {
    forgotten: forgotten.promise,
    [Symbol.dispose]: () => waker[Symbol.dispose](),
  };
}

/** Resolves when the service gets its next message. */
function nextPush(service: PushService, status: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  service.answer = () => {
    resolve();
    return new Response(null, { status });
  };
  return promise;
}

const textOf = (service: PushService, browser: Browser) => {
  const push = service.pushes.at(-1);
  assert(push);
  return browser.decrypt(push.body).toString();
};

Deno.test("a phone that gave its subscription is woken for a question that waits, until its push service forgets it", async () => {
  await using service = await PushService.start();
  await using side = await Side.open(approvals, [service.host]);
  using waking = wakes(side, service);
  const phone = await side.pair();
  const browser = await service.subscribe();
  const push = browser.subscription;
  await poll(phone, side.send, { have: [], wait: 0, push });
  assertEquals(side.approvals.devices().map(({ isWoken }) => isWoken), [true]);
  const woken = nextPush(service, 410);
  const call = side.ask({ leftMs: 60_000 });
  await woken;
  assertEquals(
    textOf(service, browser),
    "laptop: a tool call waits for your answer",
  );
  await waking.forgotten;
  assertEquals(side.approvals.devices().map(({ isWoken }) => isWoken), [false]);
  call.end("over");
  await call.answer.catch(() => {});
  assertEquals(service.pushes.length, 1);
});

/** Has everything fetched by another function, until the end of the scope. */
function fetching(other: typeof fetch): Disposable {
  const { fetch } = globalThis;
  globalThis.fetch = other;
  return { [Symbol.dispose]: () => void (globalThis.fetch = fetch) };
}

Deno.test("the devices of smcp-computer are woken by Web Push, at a push service of --push-host", async () => {
  await using service = await PushService.start();
  await using home = await scratch();
  using _fetch = fetching(service.fetch);
  const devices = new PersonsDevices(
    join(home.path, "keys.json"),
    () => "laptop",
    { pushHosts: [service.host] },
  );
  const computer = await devices.load();
  const send: Send = (_token, message) => computer.handle(message);
  const open = await computer.pair(TARGET);
  const begun = await beginPairing(readLink(open.link), send, "Pixel", false);
  assertEquals(await open.type(begun.digits), "paired");
  const phone = await begun.paired(new AbortController().signal);
  assertEquals(computer.page, TARGET.page);
  const browser = await service.subscribe();
  const push = browser.subscription;
  await poll(phone, send, { have: [], wait: 0, push });
  const woken = nextPush(service, 201);
  const call = new AbortController();
  const answer = Promise.resolve(
    devices.confirm(confirmRequest(), call.signal),
  );
  await woken;
  assertEquals(
    textOf(service, browser),
    "laptop: a tool call waits for your answer",
  );
  call.abort("timeout");
  await answer.catch(() => {});
  await devices.close();
});
