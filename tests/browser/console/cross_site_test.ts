import { assert, assertEquals } from "@std/assert";
import { apiKeys, createSmcpServer } from "../../../server/mod.ts";
import { captureLog } from "../../support/log_capture.ts";
import { operate } from "../../support/server/operator_client.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";
import { startConsole, TOKEN } from "../support/console_office.ts";
import { consoleTest, openTab } from "../support/driven.ts";
import { attack, type Gained, startOtherSite } from "../support/other_site.ts";

const KEY = "the-key-of-an-operator";

/** What every attempt may end in: nothing that can be read. */
const NOTHING: Gained[] = [
  ["blind", "opaque 0"],
  ["plain", "TypeError"],
  ["as JSON", "TypeError"],
  ["blind as JSON", "opaque 0"],
  ["beacon", "true"],
  ["image", "failed"],
  ["form of text/plain", "unreadable"],
  ["form of application/x-www-form-urlencoded", "unreadable"],
  ["form of multipart/form-data", "unreadable"],
];

consoleTest(
  "no page of another origin changes anything, not even with a token",
  async () => {
    using log = captureLog();
    await using server = createSmcpServer({
      origins: "*", // which says who may join, not who may operate
      authenticator: apiKeys([
        { id: "ops", key: KEY, roles: ["operator"] },
        { id: "lab", key: "key-of-lab" },
      ]),
    });
    const { url } = await server.listen();
    await using computer = await joinRaw(
      { url, auth: { api_key: "key-of-lab" } },
      "computer",
      "pc",
      "north",
    );
    await using agent = await joinRaw(
      { url, auth: { api_key: "key-of-lab" } },
      "agent",
      "planner",
      "north",
    );
    const called = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<unknown>();
    computer.handle("client:tool_call", (_payload, ack) => {
      called.resolve();
      void answer.promise.then(ack);
    });
    const pending = agent.ask("client:tool_call", {
      agent: "planner",
      req_id: "r1",
      computer: "pc",
      tool_name: "wait",
      params: {},
      timeout: 100,
    });
    await called.promise;
    const reason = "because";
    const changes: readonly [path: string, body: object][] = [
      [`/members/${computer.socket.id}/kick`, { reason }],
      ["/offices/north/calls/cancel", { reason, req_id: "r1" }],
      ["/keys/revoke", { reason, principal: "key:lab" }],
      ["/offices/north/computers/pc/call", { tool_name: "wait", params: {} }],
    ];
    await using site = startOtherSite();
    await using tab = await openTab({
      expected: /^Failed to load|blocked by CORS policy/,
    });
    for (const origin of [site.crossSite, site.sameSite]) {
      await tab.page.goto(origin);
      for (const [path, body] of changes) {
        assertEquals(
          await attack(tab.page, {
            url: `${url}/operator/v1${path}`,
            body: JSON.stringify(body),
            token: KEY,
          }),
          NOTHING,
          `${origin} ${path}`,
        );
      }
    }
    assert(computer.socket.connected && agent.socket.connected);
    const { body: { calls } } = await operate(
      url,
      "/offices/north/calls",
      { token: KEY },
    );
    assertEquals(calls.map(({ req_id }: { req_id: string }) => req_id), ["r1"]);
    const changed = ["member_kicked", "call_cancelled", "key_revoked"];
    assertEquals(
      log.audit.filter(({ event }) => changed.includes(String(event))),
      [],
    );
    assert(!log.text.includes(KEY), "the token is in the log");
    answer.resolve({ content: [] });
    await pending;
  },
);

consoleTest(
  "no page of another origin shows the console in a frame, nor holds its window",
  async () => {
    await using console = await startConsole();
    await using site = startOtherSite();
    await using tab = await openTab({
      expected: /frame-ancestors|Failed to load/,
    });
    const { page } = tab;
    for (const origin of [site.crossSite, site.sameSite]) {
      await page.goto(origin);
      const url = `${console.console}#token=${TOKEN}`;
      const isShown: boolean = await page.evaluate(`new Promise((resolve) => {
      const frame = document.createElement("iframe");
      frame.onload = () => resolve(frame.contentDocument !== null);
      frame.src = ${JSON.stringify(url)};
      document.body.append(frame);
    })`);
      assertEquals(isShown, false);
      const [, inside] = page.frames();
      assertEquals(await inside?.getByRole("navigation").count(), 0);
      const [opened, isLost] = await Promise.all([
        page.context().waitForEvent("page"),
        page.evaluate(`new Promise((resolve) => {
        const other = open(${JSON.stringify(url)});
        const timer = setInterval(() => {
          if (!other.closed) return;
          clearInterval(timer);
          resolve(true);
        }, 20);
      })`),
      ]);
      await opened.getByRole("navigation").first().waitFor(); // it is there, for its user
      assertEquals(isLost, true);
      await opened.close();
    }
  },
);
