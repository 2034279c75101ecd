import { assert, assertEquals } from "@std/assert";
import { GATEWAY_KEYS, gatewayKeys } from "../../../support/mcp/gateway.ts";
import { message } from "../../../support/mcp/post.ts";
import { open, send } from "../../../support/mcp/session.ts";
import { startSlowOffice, TaskClient } from "../../../support/mcp/tasks.ts";
import {
  type ApiKey,
  apiKeys,
  type Authenticator,
} from "../../../../server/mod.ts";

const { ann, bob, computer } = GATEWAY_KEYS;

/** The key of "ann", as it was changed; none where it was removed. */
const CHANGES: readonly (readonly ApiKey[])[] = [
  [],
  [{ id: "ann", key: ann, expires: "2026-01-01T00:00:00Z" }],
  [{ id: "ann", key: ann, offices: ["south"] }],
  [{ id: "ann", key: "another-key-0123456789" }],
];

Deno.test("tasks and sessions end with their key, and stay unknown to who has it afterwards", async () => {
  for (const changed of CHANGES) {
    let keys = gatewayKeys();
    const authenticator: Authenticator = {
      authenticate: (credentials) => keys.authenticate(credentials),
      refresh: (identity) => keys.refresh?.(identity),
    };
    await using slow = await startSlowOffice({ authenticator });
    const as = (key: string) => ({ ...slow, headers: { "x-api-key": key } });
    const client = new TaskClient(as(ann));
    const other = new TaskClient(as(bob));
    const { taskId } = await client.begin("pc__confirm");
    const others = await other.begin("pc__confirm");
    const mcp = {
      fetch: (_: unknown, init?: RequestInit) => {
        const headers = new Headers(init?.headers);
        headers.set("x-api-key", ann);
        return fetch(slow.url, { ...init, headers });
      },
    };
    const session = await open(mcp);
    const body = message(2, "tools/call", { name: "pc__slow" });
    const called = send(mcp, { session, body });
    await slow.began("slow");
    keys = apiKeys([
      ...changed,
      { id: "bob", key: bob, roles: ["agent"] },
      { id: "pc", key: computer, roles: ["computer"] },
    ]);
    await slow.office.server.recheckSessions();
    // Its connection is cut; a runtime that sends it again is refused.
    await called.then((response) => response.text()).catch(() => {});
    assertEquals([...await slow.cancels(2)].toSorted(), ["confirm", "slow"]);
    assertEquals((await other.get(others.taskId)).status, "working");
    keys = gatewayKeys();
    const { error } = await client.tried("tasks/get", { taskId });
    assertEquals(error?.code, -32602);
    assert(error?.message.startsWith("Task not found"));
    const again = await send(mcp, { session, body });
    await again.text();
    assertEquals(again.status, 404);
    await other.cancel(others.taskId);
  }
});
