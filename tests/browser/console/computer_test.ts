import { assert, assertEquals } from "@std/assert";
import {
  answerable,
  callTool,
  type ComputerPage,
  go,
  startComputerPage,
} from "../support/console_office.ts";
import { consoleTest, DESK, openTab, PHONE } from "../support/driven.ts";
import { seriousFindings, tooWide } from "../support/looking.ts";
import { assertResponsive } from "../support/page_work.ts";
import { argumentsOf } from "../../support/command.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { everything, fixture } from "../../support/computer/mcp_servers.ts";
import { startOAuth } from "../../support/computer/oauth.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";
import { quoted } from "../../../shared/shown_text.ts";
import {
  hasTerminals,
  startTerminal,
} from "../../support/terminal/terminal.ts";

const HOSTILE = `<script>alert(1)</script>\u202e"><img src=x onerror=alert(2)>`;

const servers = {
  files: fixture({ only: ["echo", "fail", "slow", "ask"] }, {
    tool_meta: {
      fail: { auto_apply: true },
      slow: { auto_apply: true },
      ask: { auto_apply: true },
    },
  }),
  broken: fixture({ start: "exit" }),
};

consoleTest(
  "a person approves one call on the page of a Computer, and denies another",
  async () => {
    await using shown = await startComputerPage({ servers });
    const { page, office, tab, url, token } = shown;
    assertEquals(new URL(page.url()).hash, "", "the token is not to be seen");
    await page.getByRole("row", { name: /^files running/ }).waitFor();
    await page.getByText("run its command by hand to see why").waitFor();
    await page.getByText(`connected to ${office.url}`).waitFor();

    const call = (text: string) => callTool(office, "echo", { text });
    const approved = call(HOSTILE);
    const asked = page.getByRole("article", { name: "Run this tool?" });
    await asked.getByText("<script>alert(1)</script>⟨U+202E⟩").waitFor();
    assertEquals(await shownFacts(page), [
      'Tool "echo"',
      'MCP server "files"',
      "Arguments",
      `text ${quoted(HOSTILE)}`,
      'Yes, for an hour, 20 times For an hour Agent "planner" may run tool "echo" of MCP server "files" 20 times with exactly these arguments.',
      'Always for this tool Agent "planner" may run tool "echo" of MCP server "files" any number of times with any arguments, until the tool or its MCP server changes.',
      'No, for 10 minutes to all it asks Calls of Agent "planner" that need a confirmation are refused for 10 minutes.',
      'Asked by Agent "planner"',
    ]);
    assert(/^\(1\)/.test(await page.title()), await page.title());
    assertEquals(await seriousFindings(page), []);
    await answerable(page);
    await asked.getByRole("button", { name: "Yes, this once" }).click();
    assertEquals((await approved).content[0]?.text, HOSTILE);
    await page.getByText("Answered on a page: Yes, this once").waitFor();

    const denied = call("two");
    await asked.getByText('"two"').waitFor();
    await page.getByRole("link", { name: "Calls" }).click();
    await page.getByRole("row", {
      name: /^echo planner .* waits for confirmation/,
    }).waitFor();
    await page.getByRole("link", { name: "Overview" }).click();
    // By keyboard alone.
    const no = asked.getByRole("button", { name: "No", exact: true });
    await answerable(page);
    await no.focus();
    await page.keyboard.press("Enter");
    assert((await denied).isError);
    await page.getByText("Answered on a page: No").waitFor();

    await page.getByRole("link", { name: "Calls" }).click();
    await page.getByRole("row", { name: /^echo planner .* ok / }).waitFor();
    await page.getByRole("link", { name: "echo" }).last().click();
    const result = page.getByRole("region", { name: "Result", exact: true });
    await result.getByRole("region", { name: "Text" }).getByText("onerror")
      .waitFor();
    await result.getByText("As JSON").click();
    await result.getByText('"type": "text"').waitFor();
    assertEquals(await seriousFindings(page), []);
    await page.getByRole("link", { name: "Tools" }).click();
    await page.getByText("4 of 4 tools").waitFor();
    await page.getByText("echo", { exact: true }).click();
    await page.getByText('"type": "object"').waitFor();
    for (const { url: asked, headers } of tab.requests) {
      // Of some only the headers are shown.
      assert(asked === "" || asked.startsWith(`${url}/`), asked);
      assert(!asked.includes(token));
      assertEquals(headers["referer"], undefined);
    }
  },
);

/** What a question shows, line by line. */
const shownFacts = (page: ComputerPage["page"]): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll(".asked > div")].map((row) =>
    [...row.children].map((each) => each.innerText).join(" ").trim()
  )`);

consoleTest(
  "the page of a Computer lists what was allowed beyond the rules, with what is left of it",
  async () => {
    await using shown = await startComputerPage({ servers });
    const { page, office } = shown;
    const call = () => callTool(office, "echo", { text: "a" });
    const first = call();
    const list = page.getByRole("region", { name: "Permissions" });
    await answerable(page);
    assertEquals(await list.count(), 0);
    await page.getByRole("button", { name: "Yes, for an hour, 20 times" })
      .click();
    await first;
    await list.getByText('For an hour Agent "planner" may run tool "echo"')
      .waitFor();
    await list.getByText("19 left, until ").waitFor();
    await call();
    await list.getByText("18 left, until ").waitFor();
    assertEquals(await seriousFindings(page), []);
    assertEquals(await tooWide(page), []);
  },
);

consoleTest(
  "on the page of a Computer a yes waits until all was shown and scrolled to its end",
  async () => {
    await using shown = await startComputerPage({
      servers: { files: fixture({ only: ["echo"] }) },
    }, { size: PHONE });
    const { page, office } = shown;
    await page.getByText("running", { exact: true }).first().waitFor();
    const text = `${"harmless note ".repeat(300)}\nrm -rf ~`;
    const path = "ws/.ssh/authorized_keys";
    const called = callTool(office, "echo", { content: text, path, text });
    const asked = page.getByRole("article", { name: "Run this tool?" });
    const button = (name: string) =>
      asked.getByRole("button", { name, exact: true });
    /** Of once, for an hour, always, no to all and no; a button that was just moved is only held. */
    const isDisabled = (): Promise<boolean[]> =>
      page.evaluate(
        `[...document.querySelectorAll("article .actions button")]
          .map(({ disabled }) => disabled).slice(-5)`,
      );
    await asked.getByText(`"${path}"`).waitFor();
    assertEquals(await asked.getByText(/4,209 characters in all/).count(), 2);
    assertEquals(await isDisabled(), [true, true, true, false, false]);
    assertEquals(await seriousFindings(page), []);
    assertEquals(await tooWide(page), []);
    await scrollTo(page, 1); // what is cut is not seen by that
    assertEquals(await isDisabled(), [true, true, true, false, false]);
    await answerable(page);
    await button("Show all of it").click();
    await button("Show all of it").waitFor({ state: "detached" });
    assertEquals(await isDisabled(), [true, true, true, false, false]);
    await asked.getByText("Scroll to its end first.").waitFor();
    await scrollTo(page, 0.5);
    assertEquals(await isDisabled(), [true, true, true, false, false]);
    for (const name of ["Yes, this once", "No"]) {
      assert(await isInView(page, name), `${name} is not to be seen`);
    }
    await scrollTo(page, 1);
    assertEquals(await isDisabled(), [false, false, false, false, false]);
    await button("Yes, this once").click();
    assertEquals((await called).content[0]?.text, text);
  },
);

consoleTest(
  "on the page of a Computer the end of a long name is seen before a yes, and its value is readable",
  async () => {
    await using shown = await startComputerPage({
      servers: { files: fixture({ only: ["echo"] }) },
    }, { size: PHONE });
    const { page, office } = shown;
    await page.getByText("running", { exact: true }).first().waitFor();
    const name = `${"k".repeat(25_000)}-and-rm-rf`;
    const value = "a value of some words ".repeat(5);
    const called = callTool(office, "echo", {
      deep: { er: { [name]: value } },
      text: "x",
    });
    const asked = page.getByRole("article", { name: "Run this tool?" });
    await asked.getByText(value.trim()).waitFor();
    assert((await shownFacts(page)).includes(`"${name}" "${value}"`));
    assertEquals(await tooWide(page), []);
    const shares = await page.evaluate<number[]>(
      `[...document.querySelectorAll(".asked > div")].map((row) =>
        row.lastElementChild.clientWidth / row.clientWidth
      )`,
    );
    assert(shares.every((share) => share > 0.45), shares.join());
    const yes = asked.getByRole("button", { name: "Yes, this once" });
    await answerable(page);
    await scrollTo(page, 0.5);
    assertEquals(await yes.isDisabled(), true);
    await scrollTo(page, 1);
    await yes.click();
    assertEquals((await called).content[0]?.text, "x");
  },
);

/** Scrolls a question to a share of its height. */
const scrollTo = (page: ComputerPage["page"], share: number) =>
  page.evaluate(`new Promise((done) => {
    const body = document.querySelector(".reading");
    body.scrollTop = body.scrollHeight * ${share};
    requestAnimationFrame(() => requestAnimationFrame(done));
  })`);

/** Whether a button is within the window. */
async function isInView(page: ComputerPage["page"], name: string) {
  const button = page.getByRole("button", { name, exact: true });
  const box = await button.boundingBox();
  return box !== null && box.y >= 0 && box.y + box.height <= PHONE.height;
}

consoleTest(
  "a question of too many bytes has no yes on the page of a Computer, which stays responsive",
  async () => {
    await using shown = await startComputerPage({
      servers: { files: fixture({ only: ["echo"] }) },
    });
    const { page, office } = shown;
    await page.getByText("running", { exact: true }).first().waitFor();
    await assertResponsive(page, async () => {
      const called = callTool(office, "echo", {
        text: `a${"\u0301".repeat(1_000_000)}`,
        path: "secret.txt",
      });
      const asked = page.getByRole("article", { name: "Run this tool?" });
      await asked.getByText("more than 256 KiB").waitFor();
      await asked.getByText('"secret.txt"').waitFor();
      await answerable(page);
      assertEquals(await asked.getByRole("button").allTextContents(), [
        "No, for 10 minutes to all it asks",
        "No",
      ]);
      await asked.getByRole("button", { name: "No", exact: true }).click();
      assert((await called).isError);
      const next = callTool(office, "echo", {
        text: `a${"\u0301".repeat(48_000)}${"b".repeat(1_100)}`,
      });
      await asked.getByText("a⟨48000 × U+0301⟩b").waitFor();
      await answerable(page);
      await asked.getByRole("button", {
        name: "No",
        exact: true,
      }).click();
      assert((await next).isError);
    });
  },
);

consoleTest(
  "a call is denied on the page while the terminal waits for the answer, and the other way round",
  async () => {
    if (!hasTerminals) return;
    await using office = await startOffice();
    await using config = await configFile({ servers });
    await using terminal = await startTerminal(
      Deno.execPath(),
      argumentsOf("computer", [
        "run",
        ...["--url", office.url, "--office", OFFICE, "--name", "pc"],
        ...["--config", config.file, "--ui"],
      ]),
      { columns: 120, rows: 30 },
    );
    await terminal.until(/page: http:\S+/);
    await terminal.until("office north");
    const [link = ""] = terminal.written.match(/http:\S+#token=[0-9a-f]{64}/) ??
      [];
    await using tab = await openTab();
    const { page } = tab;
    await page.goto(link);
    await page.getByRole("row", { name: /^files running/ }).waitFor();

    const denied = callTool(office, "echo", { text: "one" });
    await terminal.until("y, h, a, m or n; or ↑ ↓ and Enter");
    await answerable(page);
    await page.getByRole("button", { name: "No", exact: true }).click();
    assert((await denied).isError);
    await terminal.until(/answered on the page: No: tool "echo"/);

    const approved = callTool(office, "echo", { text: "two" });
    await page.getByText('"two"').waitFor();
    await terminal.until("y, h, a, m or n; or ↑ ↓ and Enter");
    await terminal.type("y");
    assertEquals((await approved).content[0]?.text, "two");
    await page.getByText("Answered at the terminal: Yes, this once").waitFor();
    assertEquals(await page.getByRole("article").count(), 0);
  },
);

consoleTest(
  "every view of a Computer's page is for everybody, at a desk and on a telephone",
  async () => {
    const long = "a_tool_with_a_long_name_".repeat(8);
    const configuration = {
      servers: {
        ...servers,
        [HOSTILE]: fixture({
          only: ["meta"],
          extraTools: [{
            name: long,
            description: HOSTILE.repeat(20),
            inputSchema: { type: "object" },
          }],
        }, { forbidden_tools: [HOSTILE] }),
      },
    };
    for (
      const look of [
        { size: DESK, scheme: "light" },
        { size: PHONE, scheme: "dark" },
      ] as const
    ) {
      await using shown = await startComputerPage(configuration, look);
      const { page, office } = shown;
      await page.getByText("run its command by hand").first().waitFor();
      await page.getByText("which is none of its tools").waitFor();
      const states = page.getByText("running", { exact: true });
      await states.nth(1).waitFor();
      const called = callTool(office, "echo", { text: HOSTILE.repeat(50) });
      await page.getByRole("article").waitFor();
      const views = [
        ["overview", page.getByRole("heading", { name: "Overview" })],
        ["tools", page.getByText(long).first()],
        ["calls", page.getByRole("link", { name: "echo" }).first()],
        ["calls/1", page.getByRole("heading", { name: "Arguments" })],
      ] as const;
      for (const [view, seen] of views) {
        await go(page, `#/${view}`);
        await seen.waitFor();
        assertEquals(await seriousFindings(page), [], view);
        assertEquals(await tooWide(page), [], view);
      }
      await answerable(page);
      await page.getByRole("button", { name: "No", exact: true }).click();
      assert((await called).isError);
    }
  },
);

consoleTest(
  "the page of a Computer asks for a valid token, and shows when it has lost the Computer",
  async () => {
    await using shown = await startComputerPage({ servers: {} });
    const { office, computer, url, token } = shown;
    await using tab = await openTab();
    const { page } = tab;
    await page.goto(`${url}/#token=${"0".repeat(64)}`); // of an earlier start
    await page.getByText("open the link that the Computer printed last")
      .waitFor();
    assertEquals(await seriousFindings(page), []);
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText(`connected to ${office.url}`).waitFor();
    await page.reload();
    await page.getByText(`connected to ${office.url}`).waitFor();
    await computer.stop();
    await page.getByRole("alert").getByText("does not answer").waitFor();
    assertEquals(await seriousFindings(page), []);
  },
);

consoleTest(
  "the calls of a Computer that never rests leave its page responsive",
  async () => {
    await using shown = await startComputerPage({
      servers: {
        files: fixture({ only: ["echo"] }, {
          default_tool_meta: { auto_apply: true },
        }),
      },
    });
    const { page, office } = shown;
    await page.getByRole("row", { name: /^files running/ }).waitFor();
    await go(page, "#/calls");
    const text = HOSTILE.repeat(100);
    await page.reload();
    await page.getByText("No call yet").waitFor();
    await assertResponsive(page, async () => {
      for (let batch = 0; batch < 30; batch++) {
        await Promise.all(
          Array.from({ length: 100 }, () => callTool(office, "echo", { text })),
        );
      }
      await page.getByText("1000 calls, of which the latest 200").waitFor();
    });
    assertEquals(await page.locator("tbody tr").count(), 200);
  },
);

consoleTest(
  "a form with every kind of field is filled in on the page of a Computer",
  async () => {
    await using shown = await startComputerPage({
      servers: {
        every: { ...everything(), default_tool_meta: { auto_apply: true } },
      },
    }, { size: PHONE, scheme: "dark" });
    const { page, office } = shown;
    await page.getByText("running", { exact: true }).first().waitFor();
    const called = callTool(office, "trigger-elicitation-request", {});
    const form = page.getByRole("article");
    await form.getByText("Please provide inputs").waitFor();
    assertEquals(await seriousFindings(page), []);
    assertEquals(await tooWide(page), []);
    await form.getByLabel("String", { exact: true }).fill("Ann");
    await form.getByLabel("Boolean (optional)").selectOption("Yes");
    await form.getByLabel("String with email format (optional)").fill("ann");
    await form.getByLabel("Integer (optional)").fill("1.5");
    await form.getByLabel("Titled Single Select Enum (optional)", {
      exact: true,
    }).selectOption("Wonder Woman");
    await form.getByLabel("Untitled Single Select Enum (optional)")
      .selectOption("(no answer)");
    await form.getByRole("checkbox", { name: "Piano" }).check();
    const answer = form.getByRole("button", { name: "Answer" });
    assertEquals(await answer.isDisabled(), true);
    await scrollTo(page, 1);
    await answer.click();
    const said = form.getByRole("alert");
    await said.waitFor();
    assertEquals(
      await said.textContent(),
      "email: Expected an email address; correct it. integer: Expected a whole number; correct it",
    );
    await form.getByLabel("String with email format (optional)")
      .fill("ann@example.org");
    await form.getByLabel("Integer (optional)").fill("7");
    await form.getByLabel("Integer (optional)").press("Enter");
    const text = JSON.stringify((await called).content);
    for (const part of ["Ann", "ann@example.org", "hero-3", "Piano"]) {
      assert(text.includes(part), `${part}: ${text}`);
    }
    assert(!text.includes("Monica"), text);
    await page.getByText("Answered on a page: Answered").waitFor();
  },
);

consoleTest(
  "values of inputs are typed and picked on the page of a Computer",
  async () => {
    const names = ["word", "secret", "size", "none"];
    const input = names.map((id) => "${input:" + id + "}").join("_");
    await using shown = await startComputerPage({
      inputs: [
        {
          id: "word",
          type: "promptString",
          description: "A word",
          default: "hello",
        },
        {
          id: "secret",
          type: "promptString",
          description: "A secret",
          password: true,
        },
        {
          id: "size",
          type: "pickString",
          description: "A size",
          options: [{ label: "Small one", value: "s" }, "l"],
          default: "l",
        },
        {
          id: "none",
          type: "promptString",
          description: "Nothing",
          default: "fallback",
        },
      ],
      servers: {
        files: fixture({
          only: ["echo"],
          extraTools: [{ name: input, inputSchema: { type: "object" } }],
        }),
      },
    });
    const { page } = shown;
    const question = (name: string) =>
      page.getByRole("article", { name: `${name} (input` });
    const answerable = (name: string) =>
      question(name).locator("button:not([aria-disabled])").first().waitFor();
    const answers: readonly [string, () => Promise<unknown>, string][] = [
      ["A word", async () => {
        const field = question("A word").getByLabel("Value");
        assertEquals(await field.inputValue(), "hello");
        await field.fill("typed");
      }, "Answer"],
      ["A secret", async () => {
        const field = question("A secret").getByLabel("Value");
        assertEquals(await field.getAttribute("type"), "password");
        await field.fill("p4ssword");
      }, "Answer"],
      [
        "A size",
        () => question("A size").getByLabel("Value").selectOption("Small one"),
        "Answer",
      ],
      ["Nothing", async () => {}, "No answer"],
    ];
    for (const [name, fill, button] of answers) {
      await answerable(name);
      await fill();
      await question(name).getByRole("button", { name: button, exact: true })
        .click();
    }
    await page.getByRole("row", { name: /^files running/ }).waitFor();
    await page.getByRole("link", { name: "Tools" }).click();
    await page.getByText("typed_p4ssword_s_fallback").waitFor();
  },
);

consoleTest(
  "a click at the moment when a question appears is no answer to it",
  async () => {
    await using shown = await startComputerPage({
      servers: { files: fixture({ only: ["echo"] }) },
    });
    const { page, office } = shown;
    await page.getByRole("row", { name: /^files running/ }).waitFor();
    await page.evaluate(`new MutationObserver(() => {
      const button = document.querySelector("article button");
      if (button && !window.clicked) {
        button.click();
        window.clicked = button.textContent;
      }
    }).observe(document.body, { subtree: true, childList: true })`);
    const called = callTool(office, "echo", { text: "hi" });
    const no = page.getByRole("button", { name: "No", exact: true });
    await page.locator("article button:not([aria-disabled])").first().waitFor();
    assertEquals(await page.evaluate("window.clicked"), "Yes, this once");
    await no.click();
    assert((await called).isError);
  },
);

consoleTest(
  "the page of a Computer opens the one where it is authorized for an MCP server",
  async () => {
    await using server = await startOAuth();
    await using folder = await scratch();
    await using shown = await startComputerPage(
      {
        servers: {
          a: {
            type: "streamable",
            server_parameters: { url: `${server.origin}/mcp` },
          },
        },
      },
      {},
      ["--oauth-dir", folder.path],
    );
    const { page } = shown;
    const opened = page.context().waitForEvent("page");
    await page.getByRole("button", { name: "Authorize in the browser" })
      .click();
    const other = await opened;
    await other.getByText("the Computer is authorized").waitFor();
    assertEquals(await other.evaluate("[opener, document.referrer]"), [
      null,
      "",
    ]);
    await page.getByRole("row", { name: /^a running/ }).waitFor();
    assertEquals(
      await page.getByRole("button", { name: "Authorize in the browser" })
        .count(),
      0,
    );
  },
);

consoleTest(
  "on a telephone the button of an MCP server without problems has no label",
  async () => {
    await using shown = await startComputerPage({ servers: {} }, {
      size: PHONE,
    });
    const { page } = shown;
    const server = {
      bundleId: "a",
      label: "a",
      type: "http",
      tools: 0,
      restarts: 0,
      state: "starting",
      does: "is starting",
      problems: [],
      authorizeAt: "https://issuer.example/authorize",
    };
    const computer = {
      name: "pc",
      connection: "connected",
      protocol: "0.2",
      url: shown.url,
      servers: [server],
      tools: [],
      skills: [],
      problems: [],
      permissions: [],
    };
    const news = { computer, calls: [], firstCall: 1, questions: [] };
    await page.route("**/ui/v1/events", (route) =>
      route.fulfill({
        contentType: "text/event-stream",
        body: `data: ${JSON.stringify(news)}\n\n`,
      }));
    await page.reload();
    await page.getByRole("button", { name: /^Authorize/ }).waitFor();
    const label = await page.evaluate(
      `getComputedStyle(document.querySelector("td:has(button)"), "::before").content`,
    );
    assertEquals(label, "none");
  },
);
