import type { IncomingHttpHeaders } from "node:http";
import type { Identity } from "../shared/identity.ts";

/** The credentials of a connecting client. */
export interface Credentials {
  /** Headers of the HTTP request that opened the session; names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** The Socket.IO auth object: arbitrary JSON from the client. */
  readonly auth: Readonly<Record<string, unknown>>;
  /** The client's network address. */
  readonly address: string;
}

/** A client that is not admitted. */
export interface Refused {
  /** The reason, for the audit log only. Must not contain the credentials. */
  readonly refused: string;
  /**
   * The reason for the client, where only the holder of the credentials can get it, such as "the API
   * key expired …". Absent: the client gets no reason, as protocol §10 requires.
   */
  readonly shown?: string;
}

/** Decides who may connect (protocol §10). */
export interface Authenticator {
  /**
   * Checks credentials, once for each connection.
   *
   * An exception is a failure of the server (500, clients retry), not a refusal (401, they stop).
   */
  authenticate(
    credentials: Credentials,
  ): Identity | Refused | Promise<Identity | Refused>;
  /**
   * Checks the identity of an open session again; see `SmcpServer.recheckSessions`. Absent:
   * identities never change.
   *
   * @param identity the same object that {@linkcode Authenticator.authenticate} returned
   * @returns `undefined` when unknown: the session stays unchanged
   */
  refresh?(
    identity: Identity,
  ): Identity | Refused | undefined | Promise<Identity | Refused | undefined>;
  /**
   * Returns whether there can be an operator; absent: there cannot. While it returns `false`, the operator API
   * is off.
   */
  hasOperators?(): boolean;
  /**
   * Refuses the holder of credentials from now on, as long as this authenticator is in use; open
   * sessions end when they are checked again. Absent: holders cannot be refused.
   *
   * @returns whether it can be one of this authenticator's
   */
  revoke?(principal: string): boolean;
  /**
   * Finds the holder of a key by what a sign-in has kept of it, which ends where it is refused. Absent:
   * keys of this authenticator cannot allow a sign-in.
   */
  find?(kept: KeptKey): Identity | Refused | Promise<Identity | Refused>;
}

/** What a sign-in keeps of the key that has allowed it. */
export interface KeptKey {
  /** The holder of the key, as the authenticator names it. */
  readonly principal: string;
  /** SHA-256 of the key, in hexadecimal. */
  readonly sha256: string;
}

/**
 * Checks an authenticator, which JavaScript does not: with another value all clients would be refused.
 *
 * @throws {TypeError}
 */
export function checkAuthenticator(authenticator: unknown): void {
  const { authenticate }: { authenticate?: unknown } = Object(authenticator);
  if (typeof authenticate === "function") return;
  throw new TypeError(
    "Cannot use the option authenticator: expected what apiKeys() or jwt() returns, or an object with the function authenticate",
  );
}

/**
 * Combines authenticators: tries each in order; the first that admits the client determines its identity.
 *
 * @throws {TypeError} for what is none
 */
export function anyOf(
  authenticators: readonly Authenticator[],
): Authenticator {
  authenticators.forEach(checkAuthenticator);
  return {
    async authenticate(credentials) {
      const refusals: Refused[] = [];
      for (const authenticator of authenticators) {
        const verdict = await authenticator.authenticate(credentials);
        if ("principal" in verdict) return verdict;
        refusals.push(verdict);
      }
      const shown = refusals.find((each) => each.shown !== undefined)?.shown;
      return {
        refused: refusals.map(({ refused }) => refused).join(", "),
        ...(shown !== undefined && { shown }),
      };
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
    hasOperators: () => authenticators.some((each) => each.hasOperators?.()),
    // Each is called: two may have one principal.
    revoke: (principal) =>
      authenticators.filter((each) => each.revoke?.(principal)).length > 0,
    async find(kept) {
      let refused: Refused = { refused: "no API key" };
      for (const authenticator of authenticators) {
        const verdict = await authenticator.find?.(kept);
        if (verdict === undefined) continue;
        if ("principal" in verdict) return verdict;
        refused = verdict;
      }
      return refused;
    },
  };
}
