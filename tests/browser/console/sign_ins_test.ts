import { assert, assertEquals } from "@std/assert";
import { createSmcpServer } from "../../../server/mod.ts";
import { captureLog } from "../../support/log_capture.ts";
import { GATEWAY_KEYS } from "../../support/mcp/gateway.ts";
import { holderOf, signedIn, usedGrant } from "../../support/server/grants.ts";
import { operate } from "../../support/server/operator_client.ts";
import { SignedInServer } from "../../support/server/signed_in_server.ts";
import { go, signIn, TOKEN } from "../support/console_office.ts";
import {
  consoleTest,
  DESK,
  openTab,
  type Size,
  type Tab,
  type TabOptions,
} from "../support/driven.ts";
import { LOOKS, startLooking, tooWide } from "../support/looking.ts";

const PUBLIC_URL = "https://smcp.example.com";
const HOUR_MS = 3_600_000;

/** Three grants, the newest first. */
const grants = () => {
  const now = Date.now();
  const hoursAgo = (hours: number) => now - hours * HOUR_MS;
  return [
    usedGrant({ createdAt: hoursAgo(49) }),
    usedGrant({
      id: "g2",
      client: {
        id: "https://claude.ai/code",
        name: "Claude Code (office)",
        host: "claude.ai",
      },
      computers: { except: ["laptop of Ada"] },
      createdAt: hoursAgo(50),
      usedAt: hoursAgo(5.5),
    }),
    usedGrant({
      id: "g3",
      by: holderOf("guest"),
      client: { id: "registered", name: "My script" },
      office: "workshop",
      computers: { only: ["lathe", "drill"] },
      createdAt: hoursAgo(51),
      usedAt: hoursAgo(51),
    }),
  ];
};

/** Opens the console of a Server with these sign-ins; without any, sign-in is off. */
async function opened(
  has: ReturnType<typeof grants> | undefined,
  options?: TabOptions,
  prepare?: (page: Tab["page"]) => Promise<unknown>,
) {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(createSmcpServer({
    operator: { token: TOKEN },
    publicUrl: PUBLIC_URL,
    ...(has && await signedIn(has)),
  }));
  const { url } = await server.listen();
  const tab = stack.use(await openTab(options));
  const { page } = tab;
  await prepare?.(page);
  await signIn(tab, `${url}/console`);
  const kept = stack.move();
  return { url, tab, page, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

const viewLink = (page: Tab["page"]) =>
  page.getByRole("link", { name: "Sign-ins" });

consoleTest(
  "a Server without sign-in has no link to it, and says what is off where one goes there",
  async () => {
    await using console = await opened(undefined);
    const { page } = console;
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.getByRole("heading", { name: "No offices" }).waitFor();
    assertEquals(await viewLink(page).count(), 0);
    await go(page, "#/sign-ins");
    await page.getByRole("heading", { name: "Sign-in is off" }).waitFor();
    await page.getByText("--sign-in", { exact: false }).first().waitFor();
    assertEquals(await page.getByRole("alert").count(), 0);
  },
);

consoleTest(
  "sign-ins show who let which program where, and how long; one is ended by the keyboard, with a reason",
  async () => {
    using log = captureLog();
    // So that "1 minute ago" stays so.
    const prepare = (page: Tab["page"]) => page.clock.setFixedTime(Date.now());
    await using console = await opened(grants(), {}, prepare);
    const { page } = console;
    await viewLink(page).focus();
    await page.keyboard.press("Enter");
    const rows = page.getByRole("table", { name: "Sign-ins" })
      .locator("tbody tr");
    await rows.first().waitFor();
    assertEquals(
      (await rows.allInnerTexts()).map((row) => row.split("\t")),
      [
        ["Claude", "claude.ai", "home", "key:me", "all"].concat(
          ["2 days ago", "1 minute ago", "in 29 days", "End…"],
        ),
        ["Claude Code (office)", "claude.ai", "home", "key:me"].concat(
          ["all but laptop of Ada", "2 days ago", "5 hours ago"],
          ["in 29 days", "End…"],
        ),
        ["My script", "no one", "workshop", "key:guest", "lathe, drill"].concat(
          ["2 days ago", "2 days ago", "in 29 days", "End…"],
        ),
      ],
    );
    const button = page.getByRole("button", { name: "End… Claude in home" });
    const dialog = page.getByRole("dialog", {
      name: "End the sign-in of Claude in home",
    });
    await button.focus();
    await page.keyboard.press("Enter");
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    assertEquals(await rows.count(), 3);

    await page.keyboard.press("Enter"); // the focus is where it was
    await dialog.getByLabel("Reason").focus();
    await page.keyboard.type("the laptop is lost");
    await page.keyboard.press("Enter");
    await page.getByRole("status").getByText(/Claude was ended/).waitFor();
    await button.waitFor({ state: "detached" });
    assertEquals(await rows.count(), 2);
    const [line] = log.audit.filter(({ event }) => event === "grant_ended");
    assertEquals(
      [line?.grant, line?.by, line?.reason],
      ["g1", "operator", "the laptop is lost"],
    );
  },
);

consoleTest(
  "what ends elsewhere leaves the list by the stream; an empty one says how a program signs in",
  async () => {
    // Nothing but the stream may bring it: the page does not read the list again by itself.
    const prepare = (page: Tab["page"]) =>
      page.addInitScript("globalThis.setInterval = () => 0");
    await using console = await opened(grants(), {}, prepare);
    const { page, url } = console;
    await go(page, "#/sign-ins");
    await page.getByRole("rowheader", { name: "My script" }).waitFor();
    const end = (which: object) =>
      operate(url, "/grants/end", {
        token: TOKEN,
        post: { reason: "rest", ...which },
      });
    await end({ id: "g3" });
    await page.getByRole("rowheader", { name: "My script" })
      .waitFor({ state: "detached" });
    await end({ office: "home" });
    await page.getByRole("heading", { name: "No sign-ins" }).waitFor();
    await page.getByText(
      `claude mcp add --transport http office ${PUBLIC_URL}/mcp`,
    ).waitFor();
    assertEquals(await page.getByRole("table").count(), 0);
    await go(page, "#/log");
    await page.getByText("operator ended the sign-in of My script: rest")
      .waitFor();
  },
);

consoleTest(
  "names of programs stay text, and are shown whole on any width",
  async () => {
    const program = `<img src=x onerror="document.title='owned'">‮moc.elgoog`;
    const odd = usedGrant({ client: { id: "odd", name: program } });
    for (const size of [DESK, { width: 390, height: 740 }]) {
      await using console = await opened([odd], { size });
      const { page } = console;
      await go(page, "#/sign-ins");
      const name = page.getByRole("rowheader");
      await name.waitFor();
      const text = await name.innerText();
      assert(text.startsWith("<img src=x onerror"), text);
      assert(!text.includes("‮"), "its direction is turned");
      assertEquals(await page.locator("tbody img").count(), 0);
      assertEquals(await tooWide(page), []);
    }
  },
);

consoleTest(
  "the header has room for all views on telephones, with sign-ins too",
  async () => {
    for (const width of [320, 360, 390, 430]) {
      const size: Size = { width, height: 740 };
      await using console = await opened(grants(), { size });
      const { page } = console;
      await viewLink(page).waitFor();
      const header = page.getByRole("banner");
      await header.getByText("Connected", { exact: true }).waitFor();
      for (
        const part of [
          ...await header.getByRole("link").all(),
          ...await header.getByRole("status").all(),
        ]
      ) {
        const text = `${await part.innerText()} at ${width} px`;
        const box = await part.boundingBox();
        assert(box !== null && box.x >= 0 && box.x + box.width <= width, text);
      }
      assertEquals(await tooWide(page), []);
    }
  },
);

for (const look of LOOKS) {
  consoleTest(
    `no page about sign-ins at ${look.size.width} px in ${look.scheme} has a serious fault, nor is it too wide`,
    async () => {
      const faults: unknown[] = [];
      const states = [
        ["sign-ins", grants(), "My script"],
        ["sign-ins-none", [], "No sign-ins"],
        ["sign-ins-off", undefined, "Sign-in is off"],
      ] as const;
      for (const [name, has, filled] of states) {
        await using console = await opened(has && [...has], look);
        const { tab, page } = console;
        const looking = startLooking(tab, look);
        await go(page, "#/sign-ins");
        await page.getByRole("main").getByText(filled).first().waitFor();
        await looking.at(name);
        faults.push(looking.findings);
      }
      assertEquals(faults, [{}, {}, {}]);
    },
  );
}

const CLAUDE = "https://claude.ai/oauth/client";
const CALLBACK = "https://claude.ai/api/mcp/auth_callback";

/** A program that claude.ai vouches for, and sends people back to. */
const fetchDocument = () =>
  Promise.resolve(Response.json({
    client_id: CLAUDE,
    client_name: "Claude",
    redirect_uris: [CALLBACK],
    token_endpoint_auth_method: "none",
  }));

const start = () =>
  SignedInServer.start({
    signIn: { fetchDocument },
    server: { operator: { token: TOKEN } },
  });

/** Shows a page in place of claude.ai; returns where the browser came to. */
async function standIn({ page }: Tab): Promise<() => Promise<URL>> {
  await page.route(
    "https://claude.ai/**",
    (route) =>
      route.fulfill({
        contentType: "text/html",
        body: "<title>Claude</title>",
      }),
  );
  return async () => {
    await page.waitForURL(`${CALLBACK}?*`);
    return new URL(page.url());
  };
}

/** Asks for the office "north" as claude.ai does. */
const asked = (server: SignedInServer, path = "/mcp/north") =>
  server.ask({ id: CLAUDE, redirect: CALLBACK }, {
    resource: server.issuer + path,
  });

consoleTest(
  "a person lets a website's program in, by the keyboard; an operator sees it in the console, and ends it",
  async () => {
    await using server = await start();
    await using tab = await openTab();
    const { page } = tab;
    const back = await standIn(tab);
    const { path, verifier } = asked(server, "/mcp");
    await page.goto(server.url + path);
    await page.getByRole("heading", { name: /Claude/ }).waitFor();
    await page.getByLabel("Office").focus();
    await page.keyboard.type("north");
    await page.keyboard.press("Tab");
    await page.keyboard.type(GATEWAY_KEYS.ann);
    await page.keyboard.press("Enter");
    await page.getByRole("checkbox", { name: "pc" }).waitFor();
    await page.getByRole("button", { name: "Allow" }).focus();
    await page.keyboard.press("Enter");
    const { searchParams } = await back();
    assertEquals(searchParams.get("state"), "s+1 /ü");
    const client = { id: CLAUDE, redirect: CALLBACK };
    const code = searchParams.get("code") ?? "";
    const tokens = await (await server.redeem(code, verifier, client)).json();
    const use = async () => {
      const answer = await server.request("/mcp", {
        headers: { authorization: `Bearer ${tokens.access_token}` },
      });
      await answer.body?.cancel();
      return answer.status;
    };
    assertEquals(await use() === 401, false);

    await using operator = await openTab();
    await signIn(operator, `${server.url}/console`);
    await operator.page.getByRole("link", { name: "Sign-ins" }).click();
    const row = operator.page.getByRole("row", {
      name: /^Claude claude\.ai north key:ann pc /,
    });
    await row.getByRole("button", { name: "End… Claude in north" }).click();
    const dialog = operator.page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill("enough");
    await dialog.getByRole("button", { name: "End", exact: true }).click();
    await row.waitFor({ state: "detached" });
    assertEquals(await use(), 401);
  },
);
