import { assertEquals, assertMatch } from "@std/assert";
import { consoleTest, inTime } from "../support/driven.ts";
import { openPairing, startApproving, tap } from "../support/approving.ts";

/** What the device keeps: whether its keys can be exported, of each pairing. */
const KEPT = `(async () => {
  const { result } = await new Promise((resolve) => {
    const request = indexedDB.open("approve");
    request.onsuccess = () => resolve(request);
  });
  const all = await new Promise((resolve) => {
    const request = result.transaction("pairings").objectStore("pairings").getAll();
    request.onsuccess = () => resolve(request.result);
  });
  result.close();
  return all.map(({ self: { keys } }) =>
    [keys.sign.privateKey.extractable, keys.seal.privateKey.extractable]);
})()`;

consoleTest(
  "threat 20: a reload before the digits are typed forgets all, and the link is used",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.open();
    const { page } = tab;
    const pairing = await openPairing(approving.approvals, approving.page);
    await page.goto(pairing.link);
    await page.getByRole("button", { name: "Pair", exact: true }).click();
    assertMatch(await page.locator(".digits").innerText(), /^\d{3} \d{3}$/);
    // The secret is in neither the address nor the history.
    assertEquals(page.url(), approving.page);
    await page.reload();
    await page.getByText("Not paired yet").waitFor();
    assertEquals(await page.evaluate(KEPT), []);
    await page.getByLabel(/^Link of/).fill(pairing.link);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "Pair", exact: true }).click();
    await page.getByText("The link was used").waitFor();
    assertEquals(await page.evaluate(KEPT), []);
    assertEquals(approving.approvals.devices(), []);
  },
);

consoleTest(
  "a pasted link pairs, by keyboard alone; no script can export its keys",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.open();
    const { page } = tab;
    const pairing = await openPairing(approving.approvals, approving.page);
    const { keyboard } = page;
    await page.getByLabel(/^Link of/).focus();
    await keyboard.insertText("https://example.com/#1.nonsense");
    await keyboard.press("Enter");
    await page.getByText("That is no link of smcp-computer pair.").waitFor();
    await page.getByLabel(/^Link of/).fill(pairing.link);
    await keyboard.press("Enter");
    await page.getByRole("heading", { name: "Pair with laptop?" }).waitFor();
    await keyboard.press("Tab");
    await keyboard.press("Enter");
    await pairing.type(await page.locator(".digits").innerText());
    await page.getByText("Nothing to decide").waitFor();
    assertEquals(await page.evaluate(KEPT), [[false, false]]);

    const asked = approving.ask();
    await page.getByRole("heading", { name: "Run write_file?" }).waitFor();
    const focus = () =>
      page.evaluate<string>(
        "document.activeElement.tagName + document.activeElement.className",
      );
    assertEquals(await focus(), "H1");
    const order: string[] = [];
    for (let i = 0; i < 3; i++) {
      await keyboard.press("Tab");
      order.push(await focus());
    }
    assertEquals(order, ["INPUTreason", "BUTTONno", "BUTTONyes"]);
    // Enabled it is before, too, until the end of the question was seen.
    const yes = page.getByRole("button", { name: "Yes, this once" });
    await yes.and(page.locator(":not([aria-disabled])")).waitFor();
    await keyboard.press("Enter");
    assertEquals((await asked.answer).answer, "once");
  },
);

consoleTest(
  "a pairing that ends at the Computer ends in the page, which gets its refusal",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.open();
    const { page } = tab;
    const begin = async () => {
      const pairing = await openPairing(approving.approvals, approving.page);
      await page.goto(pairing.link);
      await page.getByRole("button", { name: "Pair", exact: true }).click();
      const digits = await page.locator(".digits").innerText();
      return { pairing, digits };
    };
    const { pairing, digits } = await begin();
    const wrong = digits.startsWith("0") ? "111111" : "000000";
    for (let i = 0; i < 3; i++) await pairing.type(wrong);
    await page.getByText("its pairing has ended").waitFor();
    // A later request gets it, too.
    assertEquals(approving.approvals.verifiers.length, 1);
  },
);

consoleTest(
  "threat 20: a relay in the Computer's place has other keys than the link says",
  async () => {
    await using approving = await startApproving();
    await using other = await startApproving();
    await using tab = await approving.open();
    const { page } = tab;
    const pairing = await openPairing(approving.approvals, approving.page);
    approving.relay.lie = (message) => other.approvals.handle(message);
    await page.goto(pairing.link);
    await page.getByRole("button", { name: "Pair", exact: true }).click();
    await page.getByText("is not the Computer of the link").waitFor();
    assertEquals(await page.evaluate(KEPT), []);
  },
);

consoleTest(
  "a removed device keeps its keys until the person forgets the Computer",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.paired();
    const { page } = tab;
    // A relay alone can say that, too.
    approving.relay.lie = () => Promise.resolve(Uint8Array.of(1, 10));
    const asked = approving.ask();
    await page.getByText("Not connected, trying again.").waitFor();
    assertEquals(await page.evaluate(KEPT), [[false, false]]);
    approving.relay.lie = undefined;
    await tap(page, /^No$/);
    assertEquals((await asked.answer).answer, "no");
    await page.getByText("Nothing to decide").waitFor(); // connected again

    // A request that the Computer has gets its refusal; a later one that of the Server, as of any absence.
    approving.relay.lie = async (message, pass) => {
      const answer = pass(message);
      await approving.approvals.remove("Pixel");
      return await answer;
    };
    await page.evaluate(`dispatchEvent(new Event("offline"))`); // it asks again
    await page.getByText("refuses this device").waitFor();
    page.on("dialog", (dialog) => dialog.accept());
    await page.getByRole("button", { name: "Forget laptop" }).click();
    await page.getByText("Not paired yet").waitFor();
    assertEquals(await page.evaluate(KEPT), []);
  },
);

consoleTest(
  "the page opens without a network, and asks only while it is looked at",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.paired({
      expected: /ERR_INTERNET|Failed/,
    });
    const { page } = tab;
    await page.evaluate("navigator.serviceWorker.ready.then(() => {})");
    await page.context().setOffline(true);
    await page.reload();
    await page.getByText("Not connected").first().waitFor();
    // The first request finds it connected; the second waits, and is the last one before it is hidden.
    const waits = Promise.withResolvers<void>();
    let polls = 0;
    approving.relay.lie = (message, pass) => {
      if (++polls === 2) waits.resolve();
      return pass(message);
    };
    await page.context().setOffline(false);
    await page.getByText("Nothing to decide").waitFor();
    await inTime("a request that waits", waits.promise);

    const setHidden = (isHidden: boolean) =>
      page.evaluate(`
        Object.defineProperty(document, "hidden", {
          get: () => ${isHidden},
          configurable: true,
        });
        document.dispatchEvent(new Event("visibilitychange"));
      `);
    await setHidden(true);
    const { requests } = approving.relay;
    const before = requests.get(6);
    const asked = approving.ask();
    // A round trip of the page, after which a request would have been sent.
    await page.evaluate(`fetch(location.href).then(({ status }) => status)`);
    assertEquals(requests.get(6), before);
    assertEquals(await page.getByText("Run write_file?").count(), 0);
    await setHidden(false);
    await tap(page, /^Yes/);
    assertEquals((await asked.answer).answer, "once");
  },
);

consoleTest(
  "two Computers ask the same phone, one after the other",
  async () => {
    await using approving = await startApproving();
    await using other = await startApproving();
    // One Server, which has both; a pairing is with the one whose link was opened last.
    let isSecond = false;
    approving.relay.lie = async (message, pass) => {
      if (isSecond && [1, 2, 4].includes(message[1] ?? 0)) {
        return await other.approvals.handle(message);
      }
      const answer = await pass(message);
      return answer[1] === 10 ? await other.approvals.handle(message) : answer;
    };
    approving.relay.admits = other.approvals;
    await using tab = await approving.paired();
    const { page } = tab;
    const second = await openPairing(other.approvals, approving.page);
    await page.getByText("Pair with another Computer").click();
    await page.getByLabel(/^Link of/).fill(second.link);
    await page.getByRole("button", { name: "Continue" }).click();
    isSecond = true;
    await page.getByRole("button", { name: "Pair", exact: true }).click();
    await second.type(await page.locator(".digits").innerText());
    await page.getByText("Nothing to decide").waitFor();
    assertEquals(await page.locator(".computers li").count(), 2);
    const asked = [approving.ask(), other.ask()];
    await page.getByText("1 more wait").waitFor();
    await tap(page, /^Yes/);
    await page.getByText("Yes: write_file may run.").waitFor();
    await tap(page, /^No$/);
    const answers = await Promise.all(asked.map(({ answer }) => answer));
    assertEquals(answers.map(({ answer }) => answer).toSorted(), [
      "no",
      "once",
    ]);
  },
);

consoleTest(
  "on an iPhone, Safari says to install first, and copies the link for that",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.open();
    const { page } = tab;
    const origin = approving.relay.url;
    await page.context().grantPermissions(
      ["clipboard-read", "clipboard-write"],
      { origin },
    );
    await page.addInitScript(`Object.defineProperty(navigator, "userAgent", {
      get: () => "Mozilla/5.0 (iPhone) Version/18.0 Mobile/15E148 Safari/604.1",
    })`);
    await page.reload();
    await page.getByText("Add to Home Screen").waitFor();
    const pairing = await openPairing(approving.approvals, approving.page);
    await page.goto(pairing.link);
    await page.getByText("Add to Home Screen").waitFor();
    await page.getByRole("button", { name: "Copy the link" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const copied = await page.evaluate("navigator.clipboard.readText()");
    assertEquals(copied, pairing.link);
    const label = page.getByLabel("Name of this device");
    assertEquals(await label.inputValue(), "iPhone, Safari");
    // The link was not used here.
    assertEquals(approving.relay.requests.size, 0);
  },
);
