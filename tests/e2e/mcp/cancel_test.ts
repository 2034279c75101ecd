import { assertRejects } from "@std/assert";
import { Agent, request as httpRequest } from "node:http";
import { isCancelled } from "../../support/mcp/cancelled.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { serveOffice } from "../../support/mcp/office.ts";
import { keepTimers } from "../../support/timers.ts";

/** A time that no other part waits for. */
const GIVEN_UP_MS = 54_321;

for (const [kind, connect] of Object.entries(CLIENTS)) {
  for (const way of ["HTTP", "in process"] as const) {
    const started = async (mcp = {}) => {
      const office = await serveOffice({ mcp });
      const reach = way === "HTTP" ? office : {
        url: new URL("http://office/mcp"),
        fetch: office.mcp.fetch,
      };
      return { office, client: await connect(reach) };
    };

    Deno.test(`${kind}, ${way}: an aborted call is cancelled at the MCP server`, async () => {
      const { office: running, client: connected } = await started();
      await using office = running;
      await using client = connected;
      const abort = new AbortController();
      const slow = client.call("pc__slow", {}, { signal: abort.signal });
      await client.call("pc__slow_began");
      abort.abort(new Error("enough"));
      await assertRejects(() => slow);
      await isCancelled(office.office.agent.callTool("pc", "slow_aborted"));
    });

    Deno.test(`${kind}, ${way}: a call that the client gives up is cancelled at the MCP server`, async () => {
      const { office: running, client: connected } = await started();
      await using office = running;
      await using client = connected;
      using timers = keepTimers(GIVEN_UP_MS);
      const slow = client.call("pc__slow", {}, { timeout: GIVEN_UP_MS });
      const over = assertRejects(() => slow);
      await client.call("pc__slow_began");
      timers.fire();
      await over;
      await isCancelled(office.office.agent.callTool("pc", "slow_aborted"));
    });

    Deno.test(`${kind}, ${way}: a client that closes cancels its calls`, async () => {
      // Before 2026 the end of a stream cancels nothing: the session has to be left.
      const { office: running, client } = await started({ abandonedMs: 100 });
      await using office = running;
      const slow = client.call("pc__slow").catch(() => {});
      await client.call("pc__slow_began");
      await client.close();
      await slow;
      await isCancelled(office.office.agent.callTool("pc", "slow_aborted"));
    });

    Deno.test(`${kind}, ${way}: a client that ends its session cancels its calls`, async () => {
      const { office: running, client } = await started();
      await using office = running;
      const slow = client.call("pc__slow").catch(() => {});
      await client.call("pc__slow_began");
      await client.terminate();
      if (kind === "v2, 2026") await client.close(); // it has no session
      await isCancelled(office.office.agent.callTool("pc", "slow_aborted"));
      await client.close();
      await slow;
    });
  }
}

Deno.test("the first request of a connection is cancelled when its client goes", async () => {
  await using office = await serveOffice();
  const agent = new Agent(); // a connection of its own
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: {
      name: "pc__slow",
      arguments: {},
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "x", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    },
  });
  const request = httpRequest(office.url, {
    agent,
    method: "POST",
    headers: {
      "content-type": "application/json",
      "accept": "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "pc__slow",
    },
  });
  const closed = new Promise<void>((resolve) => request.on("close", resolve));
  request.on("error", () => {});
  request.end(body);
  await office.office.agent.callTool("pc", "slow_began");
  request.destroy();
  await closed;
  agent.destroy();
  await isCancelled(office.office.agent.callTool("pc", "slow_aborted"));
});
