/** A Computer's devices through a real Server. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { approvals } from "@a2c-smcp/server/approvals";
import { join } from "node:path";
import { Approvals } from "../../../computer/approvals/approvals.ts";
import { httpSend } from "../../../computer/cli/approve/http_send.ts";
import { officeLinkOf } from "../../../computer/computer.ts";
import type { SmcpComputerOptions } from "../../../computer/mod.ts";
import { DeviceLink } from "../../../computer/requests/device_link.ts";
import { ProtocolError } from "../../../protocol/mod.ts";
import {
  beginPairing,
  type Pairing,
  poll,
  RefusedError,
  type Send,
  sendAnswer,
} from "../../../shared/approvals/device.ts";
import { readLink } from "../../../shared/approvals/pairing.ts";
import { answerBy } from "../../support/approvals/side.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { modulesOf } from "../../support/modules.ts";
import { scratch } from "../../support/scratch.ts";

/** A Computer "pc" with devices, at a Server of its own. */
async function start(options: Partial<SmcpComputerOptions> = {}) {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const file = join(folder.path, "keys.json");
  const devices = stack.use(
    await Approvals.open(file, { name: () => "pc" }),
  );
  const pc = stack.use(
    await startComputer(
      { files: fixtureHere({ only: ["echo"] }) },
      { confirm: devices.confirm, ...options },
      { server: { approvals: approvals() } },
    ),
  );
  const link = officeLinkOf(pc.computer);
  link.devices.use(devices);
  const pair = async (label = "Pixel") => {
    await link.devices.announce();
    const { url, office = "", name } = pc.computer;
    const target = { page: "https://a.example/", url, office, computer: name };
    const open = await devices.pair(target);
    await link.devices.announce(); // the Server has the link's verifier
    const read = readLink(open.link);
    const send = httpSend({ ...read, route: read.computer }, {});
    const begun = await beginPairing(read, send, label, false);
    assertEquals(await open.type(begun.digits), "paired");
    const phone = await begun.paired(AbortSignal.timeout(60_000));
    return { phone, send };
  };
  const kept = stack.move();
  return {
    ...pc,
    devices,
    link,
    pair,
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  };
}

/** Polls until the Server lets a phone in, or no more. */
async function until(
  wanted: "in" | "out",
  phone: Pairing,
  send: Send,
): Promise<void> {
  for (;;) {
    const now = await poll(phone, send).then(
      () => "in",
      () => "out",
    );
    if (now === wanted) return;
  }
}

Deno.test("a phone that is paired through the Server says yes and no to calls of the Agent", async () => {
  await using pc = await start();
  const { phone, send } = await pc.pair();
  assertEquals(phone.route, "pc");
  const yes = pc.call("echo", { text: "hi" });
  assertEquals(await answerBy(phone, send), "taken");
  assertEquals((await yes).text, "hi");
  const no = pc.call("echo", { text: "bye" });
  await answerBy(phone, send, "no", 'ask "me" first');
  const { text, meta } = await no;
  assertEquals(meta.error_code, 4005);
  assertStringIncludes(text, "The person at pc refused the call");
  assertStringIncludes(text, String.raw`: "ask \"me\" first";`);
});

Deno.test("a yes after the call's timeout lets its repetition run once", async () => {
  await using pc = await start();
  const { phone, send } = await pc.pair();
  const params = { text: "hi" };
  const brief = { timeoutMs: 1_000, confirmationTimeoutMs: 0 };
  const { meta } = await pc.call("echo", params, brief);
  assertEquals(meta.error_code, 4004);
  const { questions: [late], tick } = await poll(phone, send);
  assertEquals(late?.late, true);
  const hash = late?.hash ?? "";
  const answer = { hash, tick, option: "once" as const };
  assertEquals(await sendAnswer(phone, send, answer), "taken");
  assertEquals((await pc.call("echo", params)).text, "hi");
  // A second repetition asks again.
  const again = pc.call("echo", params);
  assertEquals(await answerBy(phone, send, "no"), "taken");
  assertEquals((await again).meta.error_code, 4005);
});

Deno.test("the Server gets the devices again with each join, and lets a removed one out", async () => {
  await using pc = await start();
  const { phone, send } = await pc.pair();
  await poll(phone, send);
  await pc.computer.leave();
  await assertRejects(() => poll(phone, send));
  await pc.computer.join("north");
  await poll(phone, send);
  await pc.devices.remove("Pixel");
  await until("out", phone, send);
});

Deno.test("a device that is paired while the Computer is out is let in with the next join", async () => {
  await using pc = await start();
  const { phone, send } = await pc.pair();
  const direct: Send = (_token, message) => pc.devices.handle(message);
  await pc.computer.leave();
  const open = await pc.devices.pair({
    page: "https://a.example/",
    url: pc.computer.url,
    office: "north",
    computer: "pc",
  });
  const link = readLink(open.link);
  const begun = await beginPairing(link, direct, "Tablet", false);
  await open.type(begun.digits);
  const tablet = await begun.paired(AbortSignal.timeout(60_000));
  await pc.computer.join("north");
  await poll(tablet, send);
  await poll(phone, send);
});

Deno.test("a Server without approvals is named with the remedy, and so is a Computer in no office", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "keys.json");
  await using devices = await Approvals.open(file, { name: () => "pc" });
  await using pc = await startComputer({});
  const link = officeLinkOf(pc.computer).devices;
  link.use(devices);
  await assertRejects(
    () => link.announce(),
    Error,
    "its operator enables that with --approvals",
  );
  await pc.computer.leave();
  await assertRejects(() => link.announce(), Error, "is in no office");
});

Deno.test("a Computer without approvals answers devices with 404, and joins without a list", async () => {
  await using pc = await startComputer({});
  const link = new DeviceLink(officeLinkOf(pc.computer));
  assertEquals(link.joinFields(), {});
  const request = {
    agent: "device",
    req_id: "1",
    computer: "pc",
    device: "d",
    body: "AQE=",
  };
  const error = await assertRejects(
    () => link.answer(request),
    ProtocolError,
  );
  assertEquals(error.code, 404);
});

Deno.test("a Computer refuses what the Server makes up in place of a device's message", async () => {
  await using pc = await start();
  const { devices: link } = officeLinkOf(pc.computer);
  const request = { agent: "device", req_id: "1", computer: "pc", device: "d" };
  for (const body of ["", "AQg=", "AQo=", btoa("x".repeat(500))]) {
    const { body: answer, req_id } = await link.answer({ ...request, body });
    assertEquals([answer, req_id], ["AQo=", "1"]);
  }
  const error = await assertRejects(
    () => link.answer({ ...request, body: "?" }),
    ProtocolError,
  );
  assertEquals(error.code, 400);
});

Deno.test("after the Computer has closed its devices, a phone is refused", async () => {
  await using pc = await start();
  const { phone, send } = await pc.pair();
  await pc.devices.close();
  await assertRejects(() => poll(phone, send), RefusedError);
});

Deno.test("a Computer loads nothing of approvals, but by the commands that use them", async () => {
  for (const file of ["computer/mod.ts", "computer/main.ts", "mod.ts"]) {
    const modules = await modulesOf(file, { dynamic: false });
    const loaded = modules.filter((name) =>
      /^computer\/approvals\/|^shared\/approvals\//.test(name)
    );
    // The limits of questions, and what reads two flags: 4 KB.
    const small = [
      "computer/approvals/wake_addresses.ts",
      "shared/approvals/question.ts",
    ];
    const others = loaded.filter((name) => !small.includes(name));
    assertEquals(others, [], file);
  }
});
