import { configFile } from "../../support/computer/config_file.ts";
import { pageLink } from "../../support/computer/page_client.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import type { SmcpServerOptions } from "../../../server/mod.ts";
import type { TestComputerOptions } from "../../../testing/mod.ts";
import { type Office, startOffice } from "../../support/office.ts";
import { inTime, openTab, type Tab, type TabOptions } from "./driven.ts";
import { type Workshop, workshop } from "./workshop.ts";

/** The token of the operator of all offices. */
export const TOKEN = "0123456789abcdef0123456789abcdef";

/** An office with a Computer "pc" that hosts a workshop, and a console. */
export interface ConsoleOffice extends AsyncDisposable {
  /** The office. */
  readonly office: Office;
  /** What its Computer hosts. */
  readonly workshop: Workshop;
  /** The address of its console. */
  readonly console: string;
  /** Opens the console with the token, at a route such as `#/offices`. */
  open(route?: string, options?: TabOptions): Promise<Tab>;
}

/** Starts an office with a console. */
export async function startConsole({ server, computer, texts, auth }: {
  readonly server?: SmcpServerOptions;
  readonly computer?: TestComputerOptions;
  /** What the workshop says. */
  readonly texts?: Readonly<Record<string, string>>;
  /** The credentials of Agent and Computer. */
  readonly auth?: Readonly<Record<string, string>>;
} = {}): Promise<ConsoleOffice> {
  const shop = workshop(texts);
  // Over the network, since the console shows addresses and bytes.
  const credentials = { auth: auth ?? {} };
  const office = await startOffice({
    server: { operator: { token: TOKEN }, ...server },
    agent: credentials,
    computers: {
      pc: {
        ...computer,
        ...credentials,
        servers: { workshop: shop.settings, ...computer?.servers },
      },
    },
  });
  const console = `${office.url}/console`;
  return {
    office,
    workshop: shop,
    console,
    async open(route = "", options = {}) {
      const tab = await openTab(options);
      await signIn(tab, console, route);
      return tab;
    },
    [Symbol.asyncDispose]: () => office.close(),
  };
}

/** Opens a console by a link with the token, and goes to a route; what happens from then on is notified to it. */
export async function signIn(
  { page }: Tab,
  console: string,
  route = "",
  token = TOKEN,
): Promise<void> {
  const told = page.waitForResponse((response) =>
    new URL(response.url()).pathname.endsWith("/operator/v1/events")
  );
  await Promise.all([told, page.goto(`${console}#token=${token}`)]);
  await page.getByRole("navigation").first().waitFor();
  if (route !== "") await go(page, route);
}

/** Goes to a route of the console, and waits until its view is shown in place of the one before. */
export async function go(page: Tab["page"], route: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const before = location.hash;
    location.hash = ${JSON.stringify(route)};
    if (location.hash === before) return resolve();
    // The page's own listener comes first.
    addEventListener("hashchange", () => resolve(), { once: true });
  })`);
}

/** A Computer "pc" that runs with its page, which a tab shows. */
export interface ComputerPage extends AsyncDisposable {
  readonly office: Office;
  readonly computer: ReturnType<typeof runComputer>;
  readonly tab: Tab;
  readonly page: Tab["page"];
  /** The address of the page, and its token. */
  readonly url: string;
  readonly token: string;
}

/** Starts a Computer with a configuration, and opens its page. */
export async function startComputerPage(
  configuration: Parameters<typeof configFile>[0],
  options: TabOptions = {},
  flags: readonly string[] = [],
): Promise<ComputerPage> {
  await using stack = new AsyncDisposableStack();
  const office = stack.use(await startOffice());
  const config = stack.use(await configFile(configuration));
  const computer = stack.use(
    runComputer(office, config.file, { flags: ["--ui", ...flags] }),
  );
  const { link, url, token } = await pageLink(computer);
  await computer.line(/^joined/);
  const tab = stack.use(await openTab(options));
  await tab.page.goto(link);
  const kept = stack.move();
  return {
    office,
    computer,
    tab,
    page: tab.page,
    url,
    token,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Calls a tool of "pc"; that a test failed before the answer is no failure of its own. */
export function callTool(
  { agent }: Pick<Office, "agent">,
  tool: string,
  params: Record<string, unknown> = {},
) {
  const result = agent.callTool("pc", tool, params);
  const called = inTime(`the result of ${tool}`, result);
  called.catch(() => {});
  return called;
}

/** Waits until clicks on a question count, half a second after it appeared. */
export const answerable = (page: Tab["page"]) =>
  page.locator("article button:not([aria-disabled])").first().waitFor();
