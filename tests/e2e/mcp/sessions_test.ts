import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type OfficeMcp, officeMcp } from "../../../mcp/mod.ts";
import {
  INITIALIZE,
  JSON_HEADERS,
  LIST_TOOLS,
  refusalOf,
} from "../../support/mcp/raw.ts";
import { startOffice } from "../../support/office.ts";
import { hurryTimers } from "../../support/timers.ts";

const URL = "http://office/mcp";

/** Sends one request as somebody. */
const send = (
  mcp: OfficeMcp,
  init: { method?: string; body?: string; session?: string } = {},
  principal?: string,
) =>
  mcp.handle(
    new Request(URL, {
      method: init.method ?? "POST",
      body: init.body ?? null,
      headers: {
        ...JSON_HEADERS,
        ...(init.session !== undefined && { "mcp-session-id": init.session }),
      },
    }),
    principal === undefined ? {} : { principal },
  );

/** Opens a session; returns its id. */
async function open(mcp: OfficeMcp, principal?: string): Promise<string> {
  const response = await send(mcp, { body: INITIALIZE }, principal);
  await response.text();
  return response.headers.get("mcp-session-id") ?? "";
}

/** Resolves once the session has ended; between the requests its timer runs. */
async function ended(mcp: OfficeMcp, session: string): Promise<void> {
  do await new Promise((resolve) => setTimeout(resolve, 0)); while (
    await use(mcp, session) !== 404
  );
}

/** The status of a request of a session. */
async function use(
  mcp: OfficeMcp,
  session: string,
  principal?: string,
): Promise<number> {
  const response = await send(mcp, { body: LIST_TOOLS, session }, principal);
  await response.text();
  return response.status;
}

Deno.test("a session is for the one that opened it, until it is deleted", async () => {
  await using office = await startOffice();
  await using mcp = officeMcp(office.agent);
  const session = await open(mcp, "ann");
  assertEquals(await use(mcp, session, "ann"), 200);
  assertEquals(await use(mcp, session, "bob"), 404);
  assertEquals(await use(mcp, session), 404);
  const foreign = await send(mcp, { method: "DELETE", session }, "bob");
  assertEquals((await refusalOf(foreign)).status, 404);
  const deleted = await send(mcp, { method: "DELETE", session }, "ann");
  assertEquals(deleted.status, 200);
  const gone = await send(mcp, { body: LIST_TOOLS, session }, "ann");
  assertEquals(await refusalOf(gone), {
    status: 404,
    code: -32001,
    message: "Session not found: it ended; send initialize to begin another",
  });
});

Deno.test("a request without a session is told to open one", async () => {
  await using office = await startOffice();
  await using mcp = officeMcp(office.agent);
  for (const init of [{ body: LIST_TOOLS }, { method: "GET" }]) {
    const { status, message } = await refusalOf(await send(mcp, init));
    assertEquals(status, 400);
    assertStringIncludes(String(message), "send initialize first");
  }
});

Deno.test("a session that nobody uses ends, one with a stream does not", async () => {
  using _ = hurryTimers(1234);
  await using office = await startOffice();
  await using mcp = officeMcp(office.agent, { sessionIdleMs: 1234 });
  const session = await open(mcp);
  await ended(mcp, session);
  const response = await send(mcp, { body: INITIALIZE });
  const listening = response.headers.get("mcp-session-id") ?? "";
  const stream = await send(mcp, { method: "GET", session: listening });
  await response.text(); // the stream is there before the first request ends
  assertEquals([stream.status, await use(mcp, listening)], [200, 200]);
  await stream.body?.cancel();
  await ended(mcp, listening);
});

Deno.test("the session that was idle longest makes room for another, but none that is in use", async () => {
  await using office = await startOffice();
  await using mcp = officeMcp(office.agent, { maxSessions: 2 });
  const [first, second] = [await open(mcp), await open(mcp)];
  assertEquals(await use(mcp, first), 200); // now the second is idle longer
  const third = await open(mcp);
  assertEquals(await use(mcp, second), 404);
  const streams = await Promise.all(
    [first, third].map((session) => send(mcp, { method: "GET", session })),
  );
  assertEquals(streams.map(({ status }) => status), [200, 200]);
  const refused = await refusalOf(await send(mcp, { body: INITIALIZE }));
  assertEquals([refused.status, refused.message], [
    503,
    "Too many sessions: at most 2",
  ]);
  for (const { body } of streams) await body?.cancel();
});

Deno.test("a burst of clients opens no more sessions than allowed", async () => {
  await using office = await startOffice();
  await using mcp = officeMcp(office.agent, { maxSessions: 5 });
  const responses = await Promise.all(
    Array.from({ length: 50 }, () => send(mcp, { body: INITIALIZE })),
  );
  const opened = responses.filter(({ status }) => status === 200);
  assert(opened.length <= 5, `${opened.length}`);
  assert(opened.length > 0);
  for (const response of responses) await response.text();
  assertEquals((await open(mcp)).length, 36);
});

Deno.test("closing ends streams and sessions", async () => {
  await using office = await startOffice();
  const mcp = officeMcp(office.agent);
  const session = await open(mcp);
  const stream = await send(mcp, { method: "GET", session });
  const reading = stream.text();
  await mcp.close();
  await reading;
  assertEquals((await refusalOf(await send(mcp))).status, 503);
});

Deno.test("where there is no Agent, the answer says why, and the next request asks again", async () => {
  await using office = await startOffice();
  let asked = 0;
  await using mcp = officeMcp(() => {
    if (asked++ === 0) throw new Error(`The seat is taken by "ann"`);
    return office.agent;
  });
  const refused = await refusalOf(await send(mcp, { body: INITIALIZE }));
  assertEquals(refused, {
    status: 503,
    code: -32000,
    message: `The seat is taken by "ann"`,
  });
  assertEquals((await open(mcp)).length, 36);
});

Deno.test("bodies that are too large, no JSON or of another type are refused", async () => {
  await using office = await startOffice();
  await using mcp = officeMcp(office.agent, { maxBodyBytes: 1000 });
  const tooLarge = await send(mcp, { body: " ".repeat(1001) });
  assertEquals(await refusalOf(tooLarge), {
    status: 413,
    code: -32000,
    message: "The body is too large: at most 1000 bytes",
  });
  const { status, code } = await refusalOf(await send(mcp, { body: "{" }));
  assertEquals([status, code], [400, -32700]);
  const form = await mcp.fetch(URL, { method: "POST", body: "x" });
  assertEquals((await refusalOf(form)).status, 415);
});

Deno.test("requests for foreign hosts and of foreign pages are refused", async () => {
  await using office = await startOffice();
  await using mcp = officeMcp(office.agent);
  const statusOf = async (headers: Record<string, string>) => {
    const response = await mcp.handle(
      new Request(URL, {
        method: "POST",
        body: INITIALIZE,
        headers: { ...JSON_HEADERS, ...headers },
      }),
    );
    await response.text();
    return response.status;
  };
  assertEquals(await statusOf({ host: "localhost:1" }), 200);
  assertEquals(await statusOf({ host: "evil.example" }), 403);
  assertEquals(await statusOf({ origin: "https://evil.example" }), 403);
});
