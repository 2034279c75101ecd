import { memoryStore, signIn, type UsedGrant } from "@a2c-smcp/server/sign-in";
import { mcpGateway } from "../../../mcp/mod.ts";
import type { Authenticator, SmcpServerOptions } from "../../../server/mod.ts";

const HOUR_MS = 3_600_000;

/** The SHA-256 of the key behind each grant. */
const KEY_SHA256 = "5".repeat(64);

/** Lets all clients in, and knows the keys behind grants. */
export const HOLDERS: Authenticator = {
  authenticate: () => ({ principal: "member" }),
  find: ({ principal, sha256 }) =>
    sha256 === KEY_SHA256 ? { principal } : { refused: "unknown API key" },
};

/** Returns who has allowed something by the key with this id. */
export const holderOf = (id: string): UsedGrant["by"] => ({
  principal: `key:${id}`,
  keySha256: KEY_SHA256,
});

/** What the key "me" has allowed Claude in the office "home" two days ago; it is renewed every hour. */
export function usedGrant(over: Partial<UsedGrant> = {}): UsedGrant {
  const now = Date.now();
  return {
    id: "g1",
    by: holderOf("me"),
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
  return {
    authenticator: HOLDERS,
    gateway: mcpGateway(),
    signIn: signIn({ store }),
  };
}
