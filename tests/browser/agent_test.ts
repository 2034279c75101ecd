import { assertEquals, assertNotMatch } from "@std/assert";
import { SmcpAgent } from "../../agent/mod.ts";
import { SmcpComputer } from "../../computer/mod.ts";
import { createSmcpServer, type SmcpServerOptions } from "../../server/mod.ts";
import { fixture } from "../support/computer/mcp_servers.ts";
import { OFFICE } from "../support/office.ts";
import { findChromium, openPage } from "./support/chromium.ts";
import { bundlePage, servePage } from "./support/page_server.ts";

const chromium = await findChromium();
const script = await bundlePage();

/** A test that is skipped without a browser. */
const browserTest = (name: string, test: (chromium: string) => Promise<void>) =>
  Deno.test({
    name,
    timeout: 120_000,
    ignore: chromium === undefined,
    fn: () => test(chromium ?? ""),
  });

Deno.test("the Agent's bundle for browsers imports nothing", () => {
  assertNotMatch(script, /^import\b/m);
  assertNotMatch(script, /\b(from|import\(|require\() ?"node:/);
});

browserTest(
  "SmcpAgent in a page uses a Computer from connect() to close()",
  async (chromium) => {
    await using page = servePage(script);
    await using server = createSmcpServer({ origins: [page.origin] });
    const { url } = await server.listen();
    await using computer = new SmcpComputer({
      url,
      name: "pc",
      servers: {
        fixture: fixture({
          only: ["echo", "fail", "slow", "slow_began", "slow_aborted"],
          resourceList: [{ uri: "window://clock", name: "Clock" }],
        }),
      },
      confirm: () => "once",
    });
    await computer.connect();
    await computer.join(OFFICE);
    await computer.serversSettled();
    assertEquals(await visit(chromium, page, { scenario: "use", url }), {
      members: [["agent", "page"], ["computer", "pc"]],
      tools: ["echo", "fail", "slow", "slow_began", "slow_aborted"],
      echo: [{ type: "text", text: "from a page" }],
      failed: true,
      cancelled: "no longer wanted",
      aborted: [{ type: "text", text: "it was aborted" }],
      desktop: ["window://clock\n\ncontents of window://clock"],
    });
  },
);

const mismatch = {
  name: "ProtocolVersionError",
  serverVersion: "0.1.2",
  clientVersion: "0.2.0",
  state: "closed",
};

browserTest(
  "a page reads why it is refused: a Server of another version (spec §2)",
  async (chromium) => {
    assertEquals(
      await refusedBy(chromium, (origin) => ({
        protocol: "0.1",
        origins: [origin],
      })),
      mismatch,
    );
  },
);

browserTest(
  "a page with only WebSocket reads the reason over polling (spec §2)",
  async (chromium) => {
    assertEquals(
      await refusedBy(
        chromium,
        (origin) => ({ protocol: "0.1", origins: [origin] }),
        { transport: "websocket" },
      ),
      mismatch,
    );
  },
);

browserTest(
  "a page of an origin that is not allowed does not get in (spec §10)",
  async (chromium) => {
    for (const transport of ["polling", "websocket"]) {
      assertEquals(
        await refusedBy(
          chromium,
          () => ({ origins: ["https://app.example"] }),
          { transport },
        ),
        { name: "ConnectionError", code: "unreachable" },
      );
    }
  },
);

browserTest(
  "100 images of a page take no place: an Agent of this machine gets in at once",
  async (chromium) => {
    await using page = servePage(script);
    await using server = createSmcpServer({
      limits: { connectionsPerAddress: 1 },
    });
    const { url } = await server.listen();
    assertEquals(await visit(chromium, page, { scenario: "images", url }), 100);
    await using agent = new SmcpAgent({ url, name: "local" });
    await agent.connect();
    await agent.join(OFFICE);
  },
);

/** The errors of a page whose Server refuses it. */
async function refusedBy(
  chromium: string,
  options: (origin: string) => SmcpServerOptions,
  parameters: Record<string, string> = {},
): Promise<unknown> {
  await using page = servePage(script);
  await using server = createSmcpServer(options(page.origin));
  const { url } = await server.listen();
  return await visit(chromium, page, {
    scenario: "refused",
    url,
    ...parameters,
  });
}

/** Opens the page in a browser, and waits for its outcome. */
async function visit(
  chromium: string,
  page: ReturnType<typeof servePage>,
  parameters: Record<string, string>,
): Promise<unknown> {
  await using browser = await openPage(
    chromium,
    `${page.origin}/?${new URLSearchParams(parameters)}`,
  );
  return await Promise.race([page.outcome, browser.ended]);
}
