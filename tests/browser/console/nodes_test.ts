import { LEAVE_OFFICE_NOTIFICATION } from "../../../protocol/mod.ts";
import { Bus } from "../../support/cluster/bus.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";
import { signIn, TOKEN } from "../support/console_office.ts";
import { consoleTest, openTab } from "../support/driven.ts";

consoleTest(
  "the console of any node shows the whole cluster, and changes it",
  async () => {
    const bus = new Bus();
    const options = { operator: { token: TOKEN } };
    const left = await bus.serve("left", options);
    const right = await bus.serve("right", options);
    await using _left = left.server;
    await using _right = right.server;
    await using agent = await joinRaw(left.url, "agent", "planner", "north");
    await using pc = await joinRaw(right.url, "computer", "pc", "north");
    await using lathe = await joinRaw(left.url, "computer", "lathe", "north");
    await using tab = await openTab();
    const { page } = tab;
    await signIn(tab, `${left.url}/console`);
    await page.getByRole("row", { name: /north at node left .*planner .*2/ })
      .waitFor();
    await page.getByRole("link", { name: "north" }).click();
    await page.getByRole("row", { name: /pc .*127\.0\.0\.1/ }).waitFor();

    await page.getByRole("button", { name: "Kick… pc" }).click();
    const dialog = page.getByRole("dialog", { name: /pc/ });
    await dialog.getByLabel(/reason/i).fill("maintenance");
    await dialog.getByRole("button", { name: "Kick" }).click();
    await page.getByText("pc was kicked").waitFor();
    await agent.next(LEAVE_OFFICE_NOTIFICATION);
    await pc.disconnected();

    await page.evaluate(`location.hash = "#/log"`);
    await lathe.socket.disconnect();
    await page.getByRole("row").filter({ hasText: "lathe left" }).waitFor();
    await page.evaluate(`location.hash = "#/status"`);
    const nodes = page.getByRole("table", { name: "Nodes" });
    await nodes.getByRole("row", { name: /left 1/ }).waitFor();
    await nodes.getByRole("row", { name: /right 0/ }).waitFor();

    bus.isConnected = false;
    await page.getByRole("alert").getByText("No answer came from right")
      .waitFor();
    bus.isConnected = true;
    await page.getByRole("alert").waitFor({ state: "detached" });
  },
);
