import { assert, assertEquals } from "@std/assert";
import { apiKeys } from "../../../server/mod.ts";
import { captureLog } from "../../support/log_capture.ts";
import { OFFICE } from "../../support/office.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";
import { startConsole, TOKEN } from "../support/console_office.ts";
import { consoleTest, openTab } from "../support/driven.ts";

const KEYS = apiKeys([
  { id: "ops", key: "key-of-ops", roles: ["operator"] },
  { id: "south", key: "key-of-south", roles: ["operator"], offices: ["south"] },
  { id: "lab", key: "key-of-lab" },
]);

consoleTest(
  "who signs in by the form sees its offices, and why it is refused",
  async () => {
    const auth = { api_key: "key-of-lab" };
    await using console = await startConsole({
      server: { authenticator: KEYS },
      auth,
    });
    await using south = await joinRaw(
      { url: console.office.url, auth },
      "computer",
      "pc",
      "south",
    );
    await using tab = await openTab();
    const { page } = tab;
    await page.goto(console.console);
    const enter = async (token: string) => {
      await page.getByLabel("Token").fill(token);
      await page.getByRole("button", { name: "Sign in" }).click();
    };
    await enter("unknown");
    await page.getByRole("alert").getByText("no token that counts").waitFor();
    await enter("key-of-lab");
    await page.getByRole("alert").getByText("no operator").waitFor();
    await enter("key-of-south");
    const offices = page.getByRole("main").getByRole("rowheader");
    await offices.first().waitFor();
    assertEquals(await offices.allTextContents(), ["south"]);
    await page.goto(`${console.console}#/offices/${OFFICE}`);
    await page.getByRole("heading", { name: /^Nobody is in north, or/ })
      .waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await enter(TOKEN);
    await page.getByRole("row", { name: /planner/ }).waitFor();
    assert(south.socket.connected);
  },
);

consoleTest(
  "joins and leaves appear, and a member is kicked with a reason",
  async () => {
    using log = captureLog();
    await using console = await startConsole();
    const { office } = console;
    await using tab = await console.open();
    const { page } = tab;
    await page.getByRole("link", { name: OFFICE }).click();
    await page.getByRole("row", { name: /planner.*Agent.*127\.0\.0\.1/ })
      .waitFor();
    await page.getByRole("row", { name: /pc.*Computer/ }).waitFor();
    const guest = page.getByRole("link", { name: "guest" });
    await using raw = await joinRaw(office.url, "computer", "guest", OFFICE);
    await guest.waitFor();
    const ended = new Promise((resolve) =>
      raw.socket.on("disconnect", resolve)
    );
    await page.getByRole("button", { name: "Kick… guest" }).click();
    const dialog = page.getByRole("dialog", { name: /guest/ });
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "hidden" });
    assert(raw.socket.connected, "it was kicked without a reason");
    await page.getByRole("button", { name: "Kick… guest" }).click();
    await dialog.getByLabel(/reason/i).fill("maintenance until noon");
    await dialog.getByRole("button", { name: "Kick" }).click();
    await page.getByText("guest was kicked").waitFor();
    await guest.waitFor({ state: "detached" });
    await ended;
    const [audit] = log.audit.filter(({ event }) => event === "member_kicked");
    assertEquals([audit?.by, audit?.reason], [
      "operator",
      "maintenance until noon",
    ]);
  },
);

consoleTest("a revoked key ends its sessions", async () => {
  const auth = { api_key: "key-of-lab" };
  await using console = await startConsole({
    server: { authenticator: KEYS },
    auth,
  });
  await using tab = await console.open("#/offices");
  const { page } = tab;
  const ended = new Promise((resolve) =>
    console.office.agent.on("disconnected", resolve)
  );
  await page.getByRole("button", { name: "Revoke a key" }).click();
  const dialog = page.getByRole("dialog", { name: "Revoke a key" });
  await dialog.getByLabel("Key").selectOption({ label: "another one…" });
  await dialog.getByLabel("Principal").fill("key:lab");
  await dialog.getByLabel(/reason/i).fill("it leaked");
  await dialog.getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByText("key:lab is refused").waitFor();
  await ended;
  await page.getByText("Nobody is in an office").waitFor();
});
