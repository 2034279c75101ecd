import { assertEquals, assertNotMatch } from "@std/assert";
import { fileURLToPath } from "node:url";
import { SmcpAgent } from "../../agent/mod.ts";
import { createSmcpServer, type SmcpServerOptions } from "../../server/mod.ts";
import { startComputer } from "../support/computer/computer.ts";
import { fixture } from "../support/computer/mcp_servers.ts";
import { OFFICE } from "../support/office.ts";
import { consoleTest, inTime, openTab } from "./support/driven.ts";

/** `page.ts`, bundled as a user's bundler does. */
const script = await bundlePage();

async function bundlePage(): Promise<string> {
  const page = fileURLToPath(new URL("page.ts", import.meta.url));
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform", "browser", page],
    stdin: "null",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

const HTML = `<!doctype html>
<meta charset="utf-8">
<title>An Agent in a browser</title>
<link rel="icon" href="data:,">
<script type="module" src="/page.js"></script>`;

/** A Server, and a site whose page uses it. */
interface Site extends AsyncDisposable {
  /** Of the Server. */
  readonly url: string;
  /** Of the page. */
  readonly origin: string;
  /** Opens the page, and waits for its outcome. */
  visit(parameters: Readonly<Record<string, string>>): Promise<unknown>;
}

/** Starts both; the options of the Server may name the origin of the page. */
async function startSite(
  options: (origin: string) => SmcpServerOptions,
): Promise<Site> {
  const site = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    ({ url }) => {
      const [body, type] = url.endsWith("/page.js")
        ? [script, "text/javascript"]
        : [HTML, "text/html"];
      return new Response(body, { headers: { "Content-Type": type } });
    },
  );
  const origin = `http://127.0.0.1:${site.addr.port}`;
  const server = createSmcpServer(options(origin));
  const { url } = await server.listen();
  return {
    url,
    origin,
    async visit(parameters) {
      await using tab = await openTab({
        expected: /^Failed to load|blocked by CORS|^WebSocket connection/,
      });
      const query = new URLSearchParams({ url, ...parameters });
      await tab.page.goto(`${origin}/?${query}`);
      return await inTime("the outcome", tab.page.evaluate("outcome"));
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await site.shutdown();
    },
  };
}

Deno.test("the Agent's bundle for browsers imports nothing", () => {
  assertNotMatch(script, /^import\b/m);
  assertNotMatch(script, /\b(from|import\(|require\() ?"node:/);
});

consoleTest(
  "SmcpAgent in a page uses a Computer from connect() to close()",
  async () => {
    await using site = await startSite((origin) => ({ origins: [origin] }));
    await using _running = await startComputer({
      fixture: fixture({
        only: ["echo", "fail", "slow", "slow_began", "slow_aborted"],
        resourceList: [{ uri: "window://clock", name: "Clock" }],
      }),
    }, { url: site.url });
    assertEquals(await site.visit({ scenario: "use" }), {
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

const ofOtherVersion = (origin: string): SmcpServerOptions => ({
  protocol: "0.1",
  origins: [origin],
});

consoleTest(
  "a page reads why it is refused: a Server of another version (protocol §2)",
  async () => {
    await using site = await startSite(ofOtherVersion);
    assertEquals(await site.visit({ scenario: "refused" }), mismatch);
  },
);

consoleTest(
  "a page with only WebSocket reads the reason over polling (protocol §2)",
  async () => {
    await using site = await startSite(ofOtherVersion);
    const parameters = { scenario: "refused", transport: "websocket" };
    assertEquals(await site.visit(parameters), mismatch);
  },
);

consoleTest(
  "a page of an origin that is not allowed does not get in (protocol §10)",
  async () => {
    await using site = await startSite(() => ({
      origins: ["https://app.example"],
    }));
    for (const transport of ["polling", "websocket"]) {
      assertEquals(await site.visit({ scenario: "refused", transport }), {
        name: "ConnectionError",
        code: "unreachable",
        message:
          ` is an A2C-SMCP server running there, and does its option --origins (origins) allow pages of ${site.origin}?`,
      });
    }
  },
);

consoleTest(
  "100 images of a page take no place: an Agent of this machine gets in at once",
  async () => {
    await using site = await startSite(() => ({
      limits: { connectionsPerAddress: 1 },
    }));
    assertEquals(await site.visit({ scenario: "images" }), 100);
    await using agent = new SmcpAgent({ url: site.url, name: "local" });
    await agent.connect();
    await agent.join(OFFICE);
  },
);
