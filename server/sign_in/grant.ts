/**
 * What sign-in keeps: a row for each grant, and for a minute a row for each code. Consents and tokens are
 * not kept, since they carry a MAC; registrations are not kept, since they are their own `client_id`.
 *
 * @module
 */
import type { ComputerChoice } from "../../shared/computer_choice.ts";

/** What of a program is shown to a person, and bound to what the person allows. */
export interface ClientFacts {
  /** Its `client_id`. */
  readonly id: string;
  /** The name that it shows; empty for none. */
  readonly name: string;
  /** The host of its metadata document, which vouches for the name; absent for a registration. */
  readonly host?: string;
  /** Where it may be sent to. */
  readonly redirects: readonly string[];
}

/** Who allowed a program to use an office. */
export interface Allower {
  /** As the authenticator names the person's key, or what the upstream provider calls the person. */
  readonly principal: string;
  /** SHA-256 of the key, in hexadecimal; absent for a person of an upstream provider, and where there are no keys. */
  readonly keySha256?: string;
}

/** What a person allowed a program. Times are milliseconds since 1970. */
export interface Grant {
  /** Random. */
  readonly id: string;
  /** Who allowed it. */
  readonly by: Allower;
  /** The one office. */
  readonly office: string;
  /**
   * The path of the resource that its tokens are good at, below the public URL: `/mcp/OFFICE`, or `/mcp`
   * where the person chose the office.
   */
  readonly resource: string;
  /** What may use it. */
  readonly client: Pick<ClientFacts, "id" | "name" | "host">;
  /** The Computers that it may use. */
  readonly computers: ComputerChoice;
  /** When it was allowed. */
  readonly createdAt: number;
  /** Ends then, whatever is used. */
  readonly expiresAt: number;
  /** The number of the refresh token that counts. */
  readonly number: number;
  /** When the last numbers were replaced, newest first; a few of them. */
  readonly rotatedAt: readonly number[];
}

/** What a code stands for, until it is redeemed. */
export interface PendingCode {
  /** The grant that it makes. */
  readonly grant: Grant;
  /** The S256 challenge of PKCE. */
  readonly challenge: string;
  /** The redirect URI that it was sent to. */
  readonly redirect: string;
  /** It is as good as absent from then on. */
  readonly expiresAt: number;
}

/** Why a grant ended, for the audit log. */
export type GrantEnd =
  /** Its program gave it back. */
  | "revoked"
  /** An operator ended it. */
  | "operator"
  /** A refresh token was used again after its time: one was stolen. */
  | "refresh token reused"
  /** Its code was used again. */
  | "code reused"
  /** Its key was removed, restricted, replaced or revoked, or has expired. */
  | "key"
  /** Its person has no key, and is of another provider than the one in use, or of a time without keys. */
  | "person"
  | "expired";

/**
 * Keeps grants and codes. What must happen once is one call: of several callers, on whichever node, one alone
 * succeeds. Rows whose time has come are as good as absent, and go by themselves.
 *
 * A call rejects with an error when the store fails: that is a failure of the Server, never a refused token.
 */
export interface SignInStore extends AsyncDisposable {
  /** Returns the secret of all seals, 32 bytes, which it makes once. */
  secret(): Promise<Uint8Array<ArrayBuffer>>;
  /** Keeps a code by its SHA-256. */
  putCode(hash: string, code: PendingCode): Promise<void>;
  /** Takes a code away, and returns it to one caller alone. */
  takeCode(hash: string): Promise<PendingCode | undefined>;
  /** Keeps a grant, and for ten minutes which code made it. */
  putGrant(grant: Grant, codeHash: string): Promise<void>;
  /** Returns which grant a code made. */
  grantOfCode(hash: string): Promise<string | undefined>;
  /** Returns a grant that has not ended. */
  grant(id: string): Promise<Grant | undefined>;
  /** Replaces a grant whose number is still `from`; returns whether it was. */
  rotate(next: Grant, from: number): Promise<boolean>;
  /** Notes that a grant was used at a time: each node at most once a minute, and none an earlier time. */
  touch(id: string, at: number): Promise<void>;
  /** Ends a grant; returns it to the one caller who did. */
  endGrant(id: string): Promise<Grant | undefined>;
  /** Returns all grants with the time of their last use. */
  grants(): Promise<readonly UsedGrant[]>;
  /**
   * Calls back when grants have ended on another node, or may have, where messages were lost; absent where
   * there is one node alone.
   */
  onEnded?(listener: () => void): void;
}

/** A grant, and when it was last used. */
export interface UsedGrant extends Grant {
  /** Its last use. */
  readonly usedAt: number;
}
