import type { IncomingHttpHeaders } from "node:http";
import type { Awaitable } from "../shared/awaitable.ts";
import type { Identity } from "../shared/identity.ts";

/** What a client shows to be let in. */
export interface Credentials {
  /** Of the HTTP request that opened the session; names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** The Socket.IO auth object: anything that a client can write as JSON. */
  readonly auth: Readonly<Record<string, unknown>>;
  /** The client's network address. */
  readonly address: string;
}

/** Somebody is not let in. */
export interface Refused {
  /** Why, for the audit log alone: clients all hear the same. Must not hold the credentials. */
  readonly refused: string;
}

/** Decides who may connect (spec §10). */
export interface Authenticator {
  /**
   * Checks credentials, once for each connection.
   *
   * What it throws is the server's failure (500, clients try again), not a refusal (401, they stop).
   */
  authenticate(credentials: Credentials): Awaitable<Identity | Refused>;
  /**
   * Says what somebody with an open session is by now, when the operator changed something: see
   * `SmcpServer.recheckSessions`. Absent: nothing that it let in ever changes.
   *
   * @param identity the very object that {@linkcode Authenticator.authenticate} gave
   * @returns `undefined` when it cannot tell: the session goes on as it is
   */
  refresh?(identity: Identity): Awaitable<Identity | Refused | undefined>;
}

/**
 * Lets in whom one of several lets in, asked in their order: the first that does decides who it is.
 */
export const anyOf = (
  authenticators: readonly Authenticator[],
): Authenticator => ({
  async authenticate(credentials) {
    const reasons: string[] = [];
    for (const authenticator of authenticators) {
      const verdict = await authenticator.authenticate(credentials);
      if ("principal" in verdict) return verdict;
      reasons.push(verdict.refused);
    }
    return { refused: reasons.join(", ") };
  },
  async refresh(identity) {
    let refused: Refused | undefined;
    for (const authenticator of authenticators) {
      const verdict = await authenticator.refresh?.(identity);
      if (verdict === undefined) continue;
      if ("principal" in verdict) return verdict;
      refused = verdict;
    }
    return refused;
  },
});
