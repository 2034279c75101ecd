import { assert, assertEquals } from "@std/assert";
import { consoleTest, inTime, openTab, type Tab } from "../support/driven.ts";
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

/** Delivers a push to the page's worker, and waits until it was handled. */
async function deliver(page: Tab["page"], data: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { promise: registered, resolve } = Promise.withResolvers<string>();
  session.on("ServiceWorker.workerRegistrationUpdated", (update) => {
    const [first] = update.registrations;
    if (first !== undefined) resolve(first.registrationId);
  });
  const handled = new Promise<void>((resolve) =>
    session.on("BackgroundService.backgroundServiceEventReceived", (event) => {
      const { eventName } = event.backgroundServiceEvent;
      if (eventName === "Push event completed") resolve();
    })
  );
  const service = "pushMessaging";
  await session.send("BackgroundService.startObserving", { service });
  await session.send("BackgroundService.setRecording", {
    service,
    shouldRecord: true,
  });
  await session.send("ServiceWorker.enable");
  await session.send("ServiceWorker.deliverPushMessage", {
    origin: new URL("/", page.url()).href,
    registrationId: await inTime("the registration", registered),
    data,
  });
  await inTime("the end of the push event", handled);
}

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
    const subscribed = new Promise<void>((resolve) => {
      approving.relay.lie = async (message, pass) => {
        const answer = await pass(message);
        if (approving.approvals.subscriptions().length > 0) resolve();
        return answer;
      };
    });
    await page.getByRole("button", { name: "Notify me" }).click();
    await page.getByText("A call that waits will notify you.").waitFor();
    assertEquals(await page.evaluate("asked"), [[true, 65]]);
    await inTime("the subscription", subscribed);
    const [[device, push] = []] = approving.approvals.subscriptions();
    assert(device !== undefined && push !== undefined);
    assertEquals(push.endpoint, "https://fcm.googleapis.com/fcm/send/abc");
    assertEquals([push.vapid.crv, typeof push.vapid.d], ["P-256", "string"]);

    await deliver(page, JSON.stringify({ name: "laptop", tool: "write_file" }));
    // Read once, after all was shown: Chromium forgets a notification that is read while it appears.
    const shown: unknown = await page.evaluate(`(async () => {
      const all = await (await navigator.serviceWorker.ready).getNotifications();
      return all.map(({ title, body }) => [title, body]);
    })()`);
    assertEquals(shown, [
      ["Approvals", "laptop: a tool call waits for your answer"],
    ]);
  },
);

consoleTest(
  "a page whose worker cannot be registered shows why it cannot notify",
  async () => {
    await using approving = await startApproving();
    await using tab = await openTab();
    const { page } = tab;
    await page.context().grantPermissions(["notifications"], {
      origin: approving.relay.url,
    });
    await page.addInitScript(
      `ServiceWorkerContainer.prototype.register = () => Promise.reject(new Error("no room"))`,
    );
    await approving.pair(page);
    await page.getByRole("button", { name: "Notify me" }).click();
    await page.getByText("Cannot notify you: no room.").waitFor();
  },
);
