import { assert, assertEquals } from "@std/assert";
import { consoleTest } from "../support/driven.ts";
import { startApproving, tap } from "../support/approving.ts";

consoleTest("a person pairs a phone, and says yes", async () => {
  await using approving = await startApproving();
  await using tab = await approving.paired();
  const { page } = tab;
  assertEquals(page.url(), approving.page);
  const asked = approving.ask();
  await page.getByRole("heading", { name: "Run write_file?" }).waitFor();
  await tap(page, /^Yes, this once$/);
  assertEquals(await asked.answer, { answer: "once", by: 'on "Pixel"' });
  await page.getByText("Yes: write_file may run.").waitFor();
  await page.getByText("Nothing to decide").waitFor();
  assert(approving.relay.mostPending <= 2);
});

consoleTest("a no has its reason", async () => {
  await using approving = await startApproving();
  await using tab = await approving.paired();
  const { page } = tab;
  const asked = approving.ask();
  await page.getByLabel("Reason for no").fill("not today");
  await tap(page, /^No$/);
  assertEquals(await asked.answer, {
    answer: "no",
    by: 'on "Pixel"',
    reason: "not today",
  });
});
