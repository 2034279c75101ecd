import { memoryStore, signIn, type UsedGrant } from "@a2c-smcp/server/sign-in";
import { mcpGateway } from "../../../mcp/mod.ts";
import type { SmcpServerOptions } from "../../../server/mod.ts";

const HOUR_MS = 3_600_000;

/** What the key "me" has allowed Claude in the office "home" two days ago; it is renewed every hour. */
export function usedGrant(over: Partial<UsedGrant> = {}): UsedGrant {
  const now = Date.now();
  return {
    id: "g1",
    by: { principal: "key:me" },
    office: "home",
    resource: "/mcp",
    client: {
      id: "https://claude.ai/client",
      name: "Claude",
      host: "claude.ai",
    },
    computers: { except: [] },
    createdAt: now - 50 * HOUR_MS,
    expiresAt: now + 130 * 24 * HOUR_MS,
    number: 1,
    rotatedAt: [now - HOUR_MS / 2],
    usedAt: now - 90_000,
    ...over,
  };
}

/** The options of a Server with these grants. */
export async function signedIn(
  grants: readonly UsedGrant[],
): Promise<SmcpServerOptions> {
  const store = memoryStore();
  for (const { usedAt, ...grant } of grants) {
    await store.putGrant(grant, grant.id);
    await store.touch(grant.id, usedAt);
  }
  return { gateway: mcpGateway(), signIn: signIn({ store }) };
}
