import { OFFICE } from "../../support/office.ts";
import { go, startConsole } from "../support/console_office.ts";
import { consoleTest } from "../support/driven.ts";
import { flood } from "../support/flood.ts";
import { assertResponsive } from "../support/frames.ts";

/** The pages that calls change. */
const ROUTES = [
  "#/offices",
  `#/offices/${OFFICE}`,
  `#/offices/${OFFICE}/calls`,
  "#/calls",
  "#/status",
  "#/log",
];

consoleTest("2,000 calls a second leave every page responsive", async () => {
  await using console = await startConsole({ server: { limits: false } });
  await using tab = await console.open("#/offices");
  const { page } = tab;
  for (const route of ROUTES) {
    await go(page, route);
    await assertResponsive(
      page,
      () => flood(console, { rate: 2000, seconds: 2 }),
    );
  }
});
