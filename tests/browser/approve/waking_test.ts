import { assert, assertEquals } from "@std/assert";
import { consoleTest } from "../support/driven.ts";
import { startApproving } from "../support/approving.ts";

/** Chromium without Google's services has no push service: one of the test's own answers `subscribe()`. */
const SUBSCRIBE = `{
  globalThis.asked = [];
  const keys = {
    p256dh: Uint8Array.from({ length: 65 }, (_, i) => i === 0 ? 4 : 7).buffer,
    auth: new Uint8Array(16).buffer,
  };
  const subscription = {
    endpoint: "https://fcm.googleapis.com/fcm/send/abc",
    getKey: (name) => keys[name],
    unsubscribe: async () => true,
  };
  let current = null;
  PushManager.prototype.subscribe = async (options) => {
    asked.push([options.userVisibleOnly, options.applicationServerKey.byteLength]);
    return current = subscription;
  };
  PushManager.prototype.getSubscription = async () => current;
}`;

consoleTest(
  "threat 33: Notify me gives the Computer a subscription, and a push shows neither tool nor arguments",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.open();
    const { page } = tab;
    const context = page.context();
    await context.grantPermissions(["notifications"], {
      origin: approving.relay.url,
    });
    await page.evaluate(SUBSCRIBE);
    await approving.pair(page);
    await page.getByRole("button", { name: "Notify me" }).click();
    await page.getByText("A call that waits will notify you.").waitFor();
    assertEquals(await page.evaluate("asked"), [[true, 65]]);
    while (approving.approvals.subscriptions().length === 0) {
      await page.evaluate("new Promise((done) => setTimeout(done, 50))");
    }
    const [[device, push] = []] = approving.approvals.subscriptions();
    assert(device !== undefined && push !== undefined);
    assertEquals(push.endpoint, "https://fcm.googleapis.com/fcm/send/abc");
    assertEquals([push.vapid.crv, typeof push.vapid.d], ["P-256", "string"]);

    const session = await context.newCDPSession(page);
    const registered = Promise.withResolvers<string>();
    session.on("ServiceWorker.workerRegistrationUpdated", (update) => {
      const [first] = update.registrations;
      if (first !== undefined) registered.resolve(first.registrationId);
    });
    await session.send("ServiceWorker.enable");
    await session.send("ServiceWorker.deliverPushMessage", {
      origin: `${approving.relay.url}/`,
      registrationId: await registered.promise,
      data: JSON.stringify({ name: "laptop", tool: "write_file" }),
    });
    const shown = await page.evaluate<string[]>(`(async () => {
      const { ready } = navigator.serviceWorker;
      for (;;) {
        const all = await (await ready).getNotifications();
        if (all.length > 0) return all.map(({ title, body }) => [title, body]);
        await new Promise((done) => setTimeout(done, 50));
      }
    })()`);
    assertEquals(shown as unknown, [
      ["Approvals", "laptop: a tool call waits for your answer"],
    ]);
  },
);
