/**
 * Every page of the console, in both sizes and both colours. With `SMCP_SCREENSHOTS_WRITE=1` it writes
 * the screenshots of `docs/console/`: `deno task docs:screenshots`.
 */
import { assertEquals } from "@std/assert";
import { everything } from "../../support/computer/mcp_servers.ts";
import { go, signIn, startConsole } from "../support/console_office.ts";
import { consoleTest, DESK, openTab, PHONE } from "../support/driven.ts";
import { seriousFindings, tooWide } from "../support/findings.ts";
import { decodePng, encodePng } from "../support/png.ts";

const isWriting = Deno.env.get("SMCP_SCREENSHOTS_WRITE") === "1";
const folder = new URL("../../../docs/console/", import.meta.url);

/** The pages: the name of their screenshot, their route, and a text that is there once they are filled. */
const PAGES: readonly [name: string, route: string, filled: string | RegExp][] =
  [
    ["offices", "#/offices", "north"],
    ["office", "#/offices/north", "planner"],
  ];

for (const size of [DESK, PHONE]) {
  for (const scheme of ["light", "dark"] as const) {
    consoleTest(
      `every page at ${size.width} px in ${scheme} has no serious fault, and no scroll bar below it`,
      async () => {
        await using console = await startConsole({
          server: { auditPayloads: true },
          computer: { servers: { everything: everything() } },
        });
        await using tab = await openTab({ size, scheme });
        const { page } = tab;
        const findings: Record<string, string[]> = {};
        const look = async (name: string) => {
          const found = [
            ...await seriousFindings(page),
            ...await tooWide(page),
          ];
          if (found.length > 0) findings[name] = found;
          if (!isWriting) return;
          const file = `${name}-${scheme}-${size.width}.png`;
          const picture = decodePng(await page.screenshot());
          await Deno.writeFile(new URL(file, folder), encodePng(picture));
        };
        await page.goto(console.console);
        await page.getByLabel("Token").waitFor();
        await look("sign-in");
        await signIn(tab, console.console, "#/offices");
        const { agent } = console.office;
        const order = { part: "vice", colour: "green", count: 3, price: 12.5 };
        for (let i = 0; i < 10; i++) await agent.callTool("pc", "order", order);
        await agent.callTool("pc", "fail", {});
        await agent.callTool("pc", "get-sum", { a: 2, b: 3 });
        const waiting = agent.callTool("pc", "wait", { note: "for the lathe" });
        for (const [name, route, filled] of PAGES) {
          await go(page, route);
          await page.getByRole("main").getByText(filled).first().waitFor();
          await look(name);
        }
        console.workshop.release();
        await waiting;
        assertEquals(findings, {});
      },
    );
  }
}
