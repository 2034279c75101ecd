/**
 * What the page itself stops, by the numbers of the threats in the design of approvals.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { consoleTest, openTab } from "../support/driven.ts";
import { startApproving, tap } from "../support/approving.ts";
import { seriousFindings, tooWide } from "../support/looking.ts";

/** Texts that are markup, reorder, hide or push away. */
const HOSTILE: Readonly<Record<string, string>> = {
  markup: '<img src=x onerror="globalThis.pwned=1"><script>pwned=2</script>',
  bidi: "safe\u202Egpj.exe\u2066",
  invisible: "rm\u3164 -rf\u{E0100} /\u115F",
  spaces: `ls${" ".repeat(240)}; rm -rf ~`,
  breaks: `ls${"\n".repeat(20)}rm -rf ~`,
  alike: "p\u0430ypal.com",
  brackets: "⟨verified by laptop⟩",
  ["__proto__"]: "own",
  '"><b>name': "named",
};

consoleTest(
  "threat 3: markup, bidi, invisible letters and spaces in arguments are shown as text, and named",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.paired();
    const { page } = tab;
    approving.ask({
      agent: "planner\u202E verified",
      params: HOSTILE,
    });
    await page.getByRole("heading", { name: "Run write_file?" }).waitFor();
    const shown = await page.locator("main").innerText();
    for (
      const text of [
        '<img src=x onerror="globalThis.pwned=1"><script>pwned=2</script>',
        "safe⟨U+202E⟩gpj.exe⟨U+2066⟩",
        "rm⟨U+3164⟩ -rf⟨U+E0100⟩ /⟨U+115F⟩",
        "__proto__\ntext, 3 characters",
        "ls⟨240 spaces⟩; rm -rf ~",
        "ls⟨20 line breaks⟩\nrm -rf ~",
        "p⟨а U+0430⟩ypal.com",
        "⟨U+27E8⟩verified by laptop⟨U+27E9⟩",
        "planner⟨U+202E⟩ verified (as the Server names it)",
        '"><b>name',
      ]
    ) assert(shown.includes(text), `${text} in ${shown}`);
    assertEquals(await page.evaluate("globalThis.pwned"), undefined);
    assertEquals(await page.locator("img, b, main script").count(), 0);
    assertEquals(await tooWide(page), []);
    assertEquals(await seriousFindings(page), []);
  },
);

consoleTest(
  "threat 4: a yes counts only when the end of 60,000 characters was on the screen",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.paired();
    const { page } = tab;
    const asked = approving.ask({
      params: { script: `${"echo step\n".repeat(6000)}; rm -rf ~` },
    });
    // The tail is shown from the first moment.
    await page.locator("pre").getByText("; rm -rf ~").waitFor();
    assertEquals(await page.getByRole("button", { name: /^Yes/ }).count(), 0);
    await tap(page, /^Show the rest first$/);
    await tap(page, /^Scroll to the end first$/);
    assertEquals(await page.getByRole("button", { name: /^Yes/ }).count(), 0);
    assertEquals(approving.relay.requests.get(8), undefined);
    await page.locator(".end").scrollIntoViewIfNeeded();
    await tap(page, /^Yes, this once$/);
    assertEquals((await asked.answer).answer, "once");
  },
);

consoleTest(
  "threat 4: permissions wait for the end, too, and a no does not",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.paired();
    const { page } = tab;
    const options = [
      { id: "once", text: "Yes, this once" },
      { id: "hour", text: "Yes, for an hour", covers: "Equal calls." },
      { id: "no", text: "No" },
    ] as const;
    const params = { script: "echo step\n".repeat(400) };
    const asked = approving.ask({ options, params });
    await page.getByText("Equal calls.").waitFor();
    await tap(page, /^Yes, for an hour$/); // opens alone
    await page.getByRole("button", { name: /^Scroll to the end/ }).waitFor();
    assertEquals(approving.relay.requests.get(8), undefined);
    await tap(page, /^No$/);
    assertEquals((await asked.answer).answer, "no");
    const again = approving.ask({ options });
    await tap(page, /^Yes, for an hour$/);
    assertEquals((await again.answer).answer, "hour");
  },
);

consoleTest(
  "arguments that are too large to show can be refused alone",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.paired();
    const { page } = tab;
    const asked = approving.ask({ params: { content: "x".repeat(300_000) } });
    await page.getByText(/too large to show \(293 KiB\)/).waitFor();
    assertEquals(await page.getByRole("button").allTextContents(), ["No"]);
    await tap(page, /^No$/);
    assertEquals((await asked.answer).answer, "no");
  },
);

consoleTest(
  "threat 35: taps of the first 700 ms do not count, and no frame shows the page",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.paired();
    const { page } = tab;
    // The clock of the page goes on only when the test moves it.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 15_000);
    const asked = approving.ask();
    const yes = page.getByRole("button", { name: "Yes, this once" });
    await yes.waitFor();
    const place = await yes.boundingBox();
    for (let i = 0; i < 5; i++) {
      await yes.click({ force: true });
      await page.keyboard.press("Enter");
    }
    assertEquals(await yes.getAttribute("aria-disabled"), "true");
    assertEquals(approving.relay.requests.get(8), undefined);
    await page.clock.runFor(800);
    assertEquals(await yes.boundingBox(), place);
    await yes.click();
    assertEquals((await asked.answer).answer, "once");

    const response = await page.request.get(approving.page);
    const policy = response.headers()["content-security-policy"] ?? "";
    assertMatch(policy, /frame-ancestors 'none'/);
    await using other = await openTab({ expected: /frame-ancestors/ });
    await other.page.setContent(`<iframe src="${approving.page}"></iframe>`);
    const urls = other.page.frames().map((frame) => frame.url());
    assertEquals(urls, ["about:blank", "chrome-error://chromewebdata/"]);
  },
);

consoleTest(
  "the next question comes only after this one has ended, at the same place",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.paired();
    const { page } = tab;
    const first = approving.ask({ tool: "first", name: "first" });
    await page.getByRole("heading", { name: "Run first?" }).waitFor();
    const yes = page.getByRole("button", { name: /^Yes/ });
    const place = await yes.boundingBox();
    const second = approving.ask({ tool: "second", name: "second" });
    await page.getByText("1 more wait").waitFor();
    assertEquals(await page.locator("h1").innerText(), "Run first?");
    assertEquals(await yes.boundingBox(), place);
    first.end("answered at the terminal");
    await page.getByText("It has ended: answered at the terminal").waitFor();
    assertEquals(await yes.count(), 0);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("heading", { name: "Run second?" }).waitFor();
    assertEquals(await yes.boundingBox(), place);
    await tap(page, /^No$/);
    assertEquals((await second.answer).answer, "no");
  },
);
