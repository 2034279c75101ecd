/**
 * Grants from their first use to their end: who a token lets in, whether the person behind a grant may still
 * use its office, and who ends it.
 *
 * @module
 */
import type { Refused } from "../auth/authenticator.ts";
import type {
  EndOrder,
  GrantView,
  SignedIn,
  SignInHost,
} from "../doors/sign_in.ts";
import type { Identity } from "../shared/identity.ts";
import { log, reasonOf } from "../shared/log.ts";
import type { Grant, GrantEnd, SignInStore, UsedGrant } from "./grant.ts";
import type { Resources } from "./metadata.ts";
import type { Persons } from "./persons.ts";
import { type AccessClaims, isSeal, type Seals } from "./seals.ts";
import { dropOldest } from "./secret.ts";

/** Milliseconds after which a grant ends that nothing has renewed. */
const IDLE_MS = 30 * 86_400_000;

/** The most tokens that are known to be sealed here: opening one takes longer than all else. */
const MAX_OPENED = 1000;

/** The most grants that are known to have been good here; one that is forgotten is refused in place of ended. */
const MAX_GOOD = 10_000;

/** Returns when a grant ends if nothing renews it. */
export const endOf = (
  { createdAt, expiresAt, rotatedAt: [last = createdAt] }: Grant,
): number => Math.min(expiresAt, last + IDLE_MS);

/** Names a program in the audit log. */
export const programOf = (
  { client: { name, host } }: Pick<Grant, "client">,
) => ({
  program: name,
  ...(host !== undefined && { vouched_by: host }),
});

/** Names a grant in the audit log. */
export const partyOf = ({ by, office, client }: Grant) => ({
  office,
  principal: by.principal,
  ...programOf({ client }),
});

/** What of sign-in the endpoints share. */
export interface SignInParts {
  readonly host: SignInHost;
  readonly store: () => Promise<SignInStore>;
  readonly seals: () => Promise<Seals>;
  readonly resources: Resources;
  readonly persons: Persons;
}

/** A grant that has not ended, and who it lets in. */
interface AliveGrant {
  readonly grant: Grant;
  readonly identity: Identity;
}

/** The grants of a Server. */
export class Grants {
  readonly #parts: SignInParts;
  /** Access tokens by their text. */
  readonly #opened = new Map<string, AccessClaims>();
  /** The ids of the grants behind identities. */
  readonly #ids = new WeakMap<Identity, string>();
  /** The ids of grants that were good here. */
  readonly #good = new Set<string>();

  constructor(parts: SignInParts) {
    this.#parts = parts;
  }

  /** Decides about a token at a resource; `undefined` for what is no token of a sign-in. */
  admit(
    token: string,
    office: string | undefined,
  ): Promise<SignedIn | Refused> | undefined {
    return isSeal(token) ? this.#admit(token, office) : undefined;
  }

  /** Checks an identity of a grant again; `undefined` for that of another. */
  refresh(identity: Identity): Promise<Identity | Refused> | undefined {
    const id = this.#ids.get(identity);
    return id === undefined
      ? undefined
      : this.alive(id).then((found) =>
        "refused" in found ? found : found.identity
      );
  }

  /** Finds a grant that has not ended, and who it lets in; ends one whose person may not use its office any more. */
  async alive(id: string): Promise<AliveGrant | Refused> {
    const store = await this.#parts.store();
    const grant = await store.grant(id);
    if (grant === undefined) return ENDED;
    const identity = await this.#identityOf(grant);
    if (identity !== undefined) {
      this.#good.add(id);
      dropOldest(this.#good, MAX_GOOD);
      return { grant, identity };
    }
    // What another node lets in may be by keys that this one has not reloaded yet.
    const isElsewhere = store.onEnded !== undefined && !this.#good.has(id);
    if (isElsewhere && endOf(grant) > Date.now()) return NOT_HERE;
    await this.end(grant, whyEnded(grant));
    return ENDED;
  }

  /** Ends a grant, with all that it has open; returns whether it had not ended before. */
  async end(
    { id }: Pick<Grant, "id">,
    why: GrantEnd,
    order?: EndOrder,
  ): Promise<boolean> {
    const { host } = this.#parts;
    const store = await this.#parts.store();
    const ended = await store.endGrant(id);
    if (ended === undefined) return false;
    host.audit({
      event: "grant_ended",
      grant: id,
      why,
      ...order,
      ...partyOf(ended),
    });
    await host.recheck();
    return true;
  }

  /** Ends the grant of a token that was used again after its time, as a thief would. */
  async endReused(
    grant: Grant,
    token: "code" | "refresh token",
  ): Promise<void> {
    if (!await this.end(grant, `${token} reused`)) return;
    this.#parts.host.audit({
      event: "token_reused",
      grant: grant.id,
      token,
      ...partyOf(grant),
    });
  }

  /** Returns the grants, newest first. */
  async views(): Promise<readonly GrantView[]> {
    const store = await this.#parts.store();
    const views: GrantView[] = [];
    for (const grant of await store.grants()) {
      if (await this.alive(grant.id) !== ENDED) views.push(toView(grant));
    }
    return views.toSorted((a, b) => b.since.localeCompare(a.since));
  }

  /** Ends those that an operator chooses; returns them. */
  async endWhere(
    order: EndOrder,
    which: (grant: GrantView) => boolean,
  ): Promise<readonly GrantView[]> {
    const ended: GrantView[] = [];
    for (const view of await this.views()) {
      if (which(view) && await this.end(view, "operator", order)) {
        ended.push(view);
      }
    }
    return ended;
  }

  async #admit(
    token: string,
    office: string | undefined,
  ): Promise<SignedIn | Refused> {
    const claims = await this.#open(token);
    if (claims === undefined) {
      return { refused: "no access token of this Server" };
    }
    const { resources } = this.#parts;
    const now = Date.now();
    if (claims.resource !== resources.pathOf(office)) {
      return { refused: "the access token is for another resource" };
    }
    if (claims.expiresAt <= now) return { refused: "the access token expired" };
    const found = await this.alive(claims.grant);
    if ("refused" in found) return found;
    const { grant: { id, office: granted, computers }, identity } = found;
    const store = await this.#parts.store();
    // What only people look at refuses no client: the store may be full, or locked by another process.
    await store.touch(id, now).catch((error: unknown) =>
      log.error("Cannot note the use of a sign-in: {reason}", reasonOf(error))
    );
    return { identity, office: granted, grant: { id, computers } };
  }

  async #open(token: string): Promise<AccessClaims | undefined> {
    const known = this.#opened.get(token);
    if (known !== undefined) return known;
    const seals = await this.#parts.seals();
    const claims = await seals.open("access", token);
    if (claims === undefined) return undefined;
    this.#opened.set(token, claims);
    dropOldest(this.#opened, MAX_OPENED);
    return claims;
  }

  /** Ends those of a principal. */
  async endOf(principal: string, order: EndOrder): Promise<void> {
    const store = await this.#parts.store();
    for (const grant of await store.grants()) {
      if (grant.by.principal !== principal) continue;
      await this.end(grant, "operator", order);
    }
  }

  /** Returns as whom a grant lets in; `undefined` when its time is over, or its person may not use its office any more. */
  async #identityOf(grant: Grant): Promise<Identity | undefined> {
    if (endOf(grant) <= Date.now()) return undefined;
    const { by, office } = grant;
    const person = await this.#parts.persons.mayStill(by, office);
    if (person === undefined) return undefined;
    // The office is compared as it is, by the resource: those of a policy are patterns.
    const identity = {
      principal: by.principal,
      policy: { roles: ["agent"] },
      expiresAt: Math.min(grant.expiresAt, person.expiresAt ?? Infinity),
    } as const;
    this.#ids.set(identity, grant.id);
    return identity;
  }
}

/** Returns why a grant ends that admits no client. */
const whyEnded = (grant: Grant): GrantEnd =>
  endOf(grant) <= Date.now()
    ? "expired"
    : grant.by.keySha256 === undefined
    ? "person"
    : "key";

const ENDED: Refused = { refused: "the grant has ended" };

const NOT_HERE: Refused = {
  refused:
    "the key behind the grant cannot be used at this Server; if it is new, reload the keys here",
};

const toView = (grant: UsedGrant): GrantView => {
  const { id, by, office, client, computers, createdAt, usedAt } = grant;
  return {
    id,
    principal: by.principal,
    office,
    program: client.name,
    ...(client.host !== undefined && { vouched_by: client.host }),
    computers,
    since: new Date(createdAt).toISOString(),
    used: new Date(usedAt).toISOString(),
    expires: new Date(endOf(grant)).toISOString(),
  };
};
