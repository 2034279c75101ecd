import { assertEquals } from "@std/assert";
import {
  mcpGateway,
  officeMcp,
  type OfficeMcpOptions,
} from "../../../mcp/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { INITIALIZE, JSON_HEADERS } from "../../support/mcp/raw.ts";

const PAGE = "https://app.example";
const FOREIGN = "https://evil.example";

/** The headers of a response that browsers go by, and its status. */
async function sharing(response: Response): Promise<Record<string, unknown>> {
  await response.body?.cancel();
  const named = [...response.headers]
    .filter(([name]) => name.startsWith("access-control-"))
    .map(([name, value]) => [name.replace("access-control-", ""), value]);
  return { status: response.status, ...Object.fromEntries(named) };
}

/** What a browser asks before it sends a page's request. */
const question = (origin: string): RequestInit => ({
  method: "OPTIONS",
  headers: {
    origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type,mcp-param-city",
  },
});

/** What opens a session. */
const opening = (origin: string): RequestInit => ({
  method: "POST",
  headers: { ...JSON_HEADERS, origin },
  body: INITIALIZE,
});

/** The answers of an office in this process. */
async function answers(
  options: OfficeMcpOptions,
  ...requests: RequestInit[]
): Promise<Record<string, unknown>[]> {
  await using running = await startComputer({ fix: fixtureHere() });
  await using office = officeMcp(running.office.agent, options);
  return await Promise.all(
    requests.map(async (init) =>
      await sharing(await office.fetch("http://office/mcp", init))
    ),
  );
}

const EXPOSED = "Mcp-Session-Id, WWW-Authenticate";
const ALLOWED = {
  "allow-methods": "GET, POST, DELETE",
  "allow-headers": "content-type,mcp-param-city",
};

Deno.test("a browser lets pages of the allowed origins call, and read the session's id", async () => {
  const shared = { "allow-origin": PAGE, "expose-headers": EXPOSED };
  assertEquals(
    await answers({ origins: [PAGE] }, question(PAGE), opening(PAGE)),
    [{ status: 204, ...shared, ...ALLOWED }, { status: 200, ...shared }],
  );
});

Deno.test("with origins * a browser lets every page call", async () => {
  const shared = { "allow-origin": "*", "expose-headers": EXPOSED };
  assertEquals(
    await answers({ origins: "*" }, question(FOREIGN), opening(FOREIGN)),
    [{ status: 204, ...shared, ...ALLOWED }, { status: 200, ...shared }],
  );
});

Deno.test("pages of other origins are refused, and told nothing", async () => {
  const refused = { status: 403 };
  assertEquals(
    await answers({ origins: [PAGE] }, question(FOREIGN), opening(FOREIGN)),
    [refused, refused],
  );
  assertEquals(await answers({}, question(PAGE), opening(PAGE)), [
    refused,
    refused,
  ]);
});

Deno.test("who is no page gets no headers for browsers", async () => {
  const init = { method: "POST", headers: JSON_HEADERS, body: INITIALIZE };
  assertEquals(await answers({ origins: "*" }, init), [{ status: 200 }]);
});

Deno.test("behind a Server its own origins count, and no others", async () => {
  await using running = await startComputer({ fix: fixtureHere() }, {}, {
    server: { gateway: mcpGateway(), origins: [PAGE] },
  });
  await running.office.agent.leave();
  const url = new URL("/mcp/north", running.office.url);
  const ask = async (init: RequestInit) =>
    await sharing(await fetch(url, init));
  const preflight = await ask(question(PAGE));
  assertEquals([preflight.status, preflight["allow-origin"]], [204, PAGE]);
  assertEquals(preflight["allow-headers"], ALLOWED["allow-headers"]);
  const opened = await ask(opening(PAGE));
  assertEquals([opened.status, opened["allow-origin"]], [200, PAGE]);
  assertEquals(
    `${opened["expose-headers"]}`.toLowerCase().split(/,\s*/),
    ["mcp-session-id", "www-authenticate"],
  );
  assertEquals((await ask(question(FOREIGN)))["allow-origin"], undefined);
  const refused = await ask(opening(FOREIGN));
  assertEquals([refused.status, refused["allow-origin"]], [403, undefined]);
});
