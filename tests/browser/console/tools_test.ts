import { assertEquals } from "@std/assert";
import { everything } from "../../support/computer/mcp_servers.ts";
import { OFFICE } from "../../support/office.ts";
import { startConsole } from "../support/console_office.ts";
import { consoleTest } from "../support/driven.ts";
import { assertResponsive } from "../support/frames.ts";

const PC = `#/offices/${OFFICE}/computers/pc`;

consoleTest(
  "a Computer's MCP servers, tools and windows are shown, and a tool is tried by its form",
  async () => {
    await using console = await startConsole({
      computer: { servers: { everything: everything() } },
    });
    const { workshop } = console;
    await using tab = await console.open(PC);
    const { page } = tab;
    const section = (name: string) => page.getByRole("region", { name });
    await section("MCP servers").getByText("everything").first().waitFor();
    await section("Windows").getByText("A vice, two files and a lamp.")
      .waitFor();
    await section("Tools").getByRole("button", { name: "get-sum" })
      .waitFor();

    await page.getByRole("button", { name: "order", exact: true }).click();
    await page.getByRole("button", { name: "Call" }).click();
    await page.getByText(/^part/).first().waitFor();
    assertEquals(workshop.asked, [], "it was called without what it needs");
    await page.getByLabel(/^part/).fill("vice");
    await page.getByLabel(/^count/).fill("3");
    await page.getByLabel(/^price/).fill("12.5");
    await page.getByLabel(/^colour/).selectOption("green");
    await page.getByLabel(/^street/).fill("Mill Lane 1");
    await page.getByLabel(/^town/).fill("Ely");
    await page.getByRole("button", { name: "Call" }).click();
    const result = page.getByRole("article").first();
    await result.getByText("done").waitFor();
    await result.getByText("37.5").first().waitFor();
    assertEquals(workshop.asked, [{
      tool: "order",
      params: {
        part: "vice",
        count: 3,
        price: 12.5,
        colour: "green",
        address: { street: "Mill Lane 1", town: "Ely" },
      },
    }]);

    await page.getByRole("button", { name: "draw", exact: true }).click();
    await page.getByRole("button", { name: "Call" }).click();
    const image = page.getByRole("article").getByRole("img");
    await image.waitFor();
    await page.waitForFunction(
      "document.querySelector('article img').complete",
    );
    assertEquals(
      await page.evaluate("document.querySelector('article img').naturalWidth"),
      160, // its default
    );

    await page.getByRole("button", { name: "fail", exact: true }).click();
    await page.getByRole("button", { name: "Call" }).click();
    await page.getByText("the part is sold out").waitFor();
  },
);

consoleTest(
  "a result of 1 MB, and one that is markup, leave the page responsive",
  async () => {
    await using console = await startConsole({
      texts: {
        markup:
          '<img src=x onerror="globalThis.pwned=1"><script>pwned=2</script>',
        much: "much ".repeat(200_000),
      },
    });
    await using tab = await console.open(`${PC}?tool=say`);
    const { page } = tab;
    const say = async (what: string) => {
      await page.getByLabel(/^what/).fill(what);
      await page.getByRole("button", { name: "Call" }).click();
      return page.getByRole("article").first();
    };
    await assertResponsive(page, async () => {
      await (await say("markup")).getByText("<img src=x onerror=").waitFor();
      await (await say("much")).getByText("much much").first().waitFor();
    });
    assertEquals(await page.evaluate("globalThis.pwned"), undefined);
    assertEquals(await page.locator("article img, article script").count(), 0);
  },
);
