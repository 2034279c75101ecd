/**
 * `/token` and `/revoke`: a code becomes a grant, refresh tokens follow one another by number, and a token
 * that is given back ends its grant.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import type { SmcpEnv } from "../http/http_app.ts";
import type { Clients } from "./clients.ts";
import type { Grant } from "./grant.ts";
import { endOf, type Grants, type SignInParts } from "./grants.ts";
import { SCOPE } from "./metadata.ts";
import {
  clientOf,
  maxBody,
  NO_STORE,
  OAuthFault,
  type Parameters,
  readForm,
  type SignInTries,
  toErrorResponse,
} from "./oauth.ts";
import { sha256 } from "./seals.ts";

/** Milliseconds that an access token is good for. */
const ACCESS_MS = 3_600_000;

/**
 * Milliseconds in which a refresh token may be used again: programs refresh from two addresses, in several
 * processes at once, and when an answer was lost.
 */
const GRACE_MS = 120_000;

/** How many of the last numbers a grant has the times of. */
const MAX_ROTATIONS = 8;

/** Milliseconds after which a code that is used again is no retry of its own program. */
const RETRY_MS = 10_000;

/** What a refresh token is answered with. */
export type Refresh =
  /** The grant with its next number. */
  | { readonly kind: "next"; readonly grant: Grant }
  /** The same successor that it had before. */
  | { readonly kind: "again"; readonly number: number }
  /** It was used before, and long ago: the grant ends. */
  | { readonly kind: "reused" };

/**
 * Decides about a refresh token.
 *
 * @param number of the refresh token
 * @param now milliseconds since 1970
 */
export function decideRefresh(
  grant: Grant,
  number: number,
  now: number,
): Refresh {
  if (number === grant.number) {
    const rotatedAt = [now, ...grant.rotatedAt].slice(0, MAX_ROTATIONS);
    const next = { ...grant, number: number + 1, rotatedAt };
    return { kind: "next", grant: next };
  }
  const replacedAt = grant.rotatedAt[grant.number - 1 - number];
  return replacedAt !== undefined && now - replacedAt <= GRACE_MS
    ? { kind: "again", number: number + 1 }
    : { kind: "reused" };
}

const VERIFIER = /^[\w.~-]{43,128}$/;

/** What the endpoints need. */
interface TokenParts extends SignInParts {
  readonly grants: Grants;
  readonly clients: Clients;
  readonly tries: SignInTries;
}

/** The endpoints for tokens. */
export class TokenEndpoints {
  readonly #parts: TokenParts;

  constructor(parts: TokenParts) {
    this.#parts = parts;
  }

  /** Adds the routes. */
  mount(app: Hono<SmcpEnv>): void {
    const small = maxBody(16 * 1024);
    app.post("/token", small, (c) => this.#answer(c, this.#issue));
    app.post("/revoke", small, (c) => this.#answer(c, this.#revoke));
  }

  async #answer(
    c: Context<SmcpEnv>,
    answer: (form: Parameters) => Promise<Response>,
  ): Promise<Response> {
    const { host, tries } = this.#parts;
    const address = clientOf(c, host.proxies);
    try {
      return await answer(await readForm(c));
    } catch (error) {
      if (!(error instanceof OAuthFault)) throw error;
      // What is good is never refused: strangers may share the address, and no token can be guessed.
      if (tries.isExceeded("token", address)) {
        const why = "too many failures";
        return toErrorResponse(new OAuthFault("temporarily_unavailable", why));
      }
      tries.count("token", address);
      const reason = `${error.code}: ${error.message}`;
      host.audit({ event: "sign_in_refused", reason, address });
      return toErrorResponse(error);
    }
  }

  readonly #issue = async (form: Parameters): Promise<Response> => {
    const client = form.get("client_id");
    if (client !== undefined && !this.#parts.clients.isKnown(client)) {
      throw new OAuthFault(
        "invalid_client",
        "client_id: unknown; register again",
      );
    }
    switch (form.get("grant_type")) {
      case "authorization_code":
        return await this.#redeem(form);
      case "refresh_token":
        return await this.#refresh(form);
      default:
        throw new OAuthFault(
          "unsupported_grant_type",
          "grant_type: expected authorization_code or refresh_token",
        );
    }
  };

  /** Redeems a code, once. What was taken is gone, whatever is wrong with the request. */
  async #redeem(form: Parameters): Promise<Response> {
    const store = await this.#parts.store();
    const code = form.get("code") ?? "";
    const verifier = form.get("code_verifier") ?? "";
    // With the verifier, so that none but the program itself finds its grant by it.
    const usedHash = await sha256(`${code} ${verifier}`);
    const pending = await store.takeCode(await sha256(code));
    if (pending === undefined) {
      await this.#endReused(usedHash);
      throw invalidGrant("the code is unknown, used or expired");
    }
    const { challenge, redirect } = pending;
    // From now on: a code may wait for a minute.
    const grant = { ...pending.grant, createdAt: Date.now() };
    this.#checkClient(form, grant);
    if ((form.get("redirect_uri") ?? redirect) !== redirect) {
      throw invalidGrant("redirect_uri: not that of the authorization");
    }
    if (!VERIFIER.test(verifier) || await sha256(verifier) !== challenge) {
      throw invalidGrant("code_verifier: does not match the code_challenge");
    }
    this.#checkResource(form, grant);
    await store.putGrant(grant, usedHash);
    return await this.#tokens(grant);
  }

  /** Ends the grant of a code that is used again, unless its program may just have lost the answer. */
  async #endReused(usedHash: string): Promise<void> {
    const store = await this.#parts.store();
    const id = await store.grantOfCode(usedHash);
    const grant = id === undefined ? undefined : await store.grant(id);
    if (grant === undefined || Date.now() - grant.createdAt <= RETRY_MS) return;
    await this.#parts.grants.endReused(grant, "code");
  }

  async #refresh(form: Parameters): Promise<Response> {
    const { grants } = this.#parts;
    const store = await this.#parts.store();
    const seals = await this.#parts.seals();
    const token = form.get("refresh_token") ?? "";
    const claims = await seals.open("refresh", token);
    for (let left = MAX_ROTATIONS; claims !== undefined && left > 0; left--) {
      const found = await grants.alive(claims.grant);
      if ("refused" in found) break;
      const { grant } = found;
      this.#checkClient(form, grant);
      this.#checkResource(form, grant);
      const refresh = decideRefresh(grant, claims.number, Date.now());
      switch (refresh.kind) {
        case "next":
          if (await store.rotate(refresh.grant, grant.number)) {
            return await this.#tokens(refresh.grant);
          }
          continue; // another request was faster
        case "again":
          return await this.#tokens({ ...grant, number: refresh.number });
        case "reused":
          await grants.endReused(grant, "refresh token");
          throw invalidGrant("refresh_token: used before; sign in again");
      }
    }
    throw invalidGrant("refresh_token: unknown, or its grant has ended");
  }

  #checkClient(form: Parameters, { client: { id } }: Grant): void {
    if ((form.get("client_id") ?? id) === id) return;
    throw invalidGrant("it belongs to another client_id");
  }

  #checkResource(form: Parameters, grant: Grant): void {
    const resource = form.get("resource");
    if (resource === undefined) return;
    const { path } = this.#parts.resources.find(resource);
    if (path === grant.resource) return;
    throw new OAuthFault(
      "invalid_target",
      "resource: not that of the authorization",
    );
  }

  async #tokens(grant: Grant): Promise<Response> {
    const seals = await this.#parts.seals();
    const now = Date.now();
    const expiresAt = Math.min(now + ACCESS_MS, endOf(grant));
    const { id, office, resource, number } = grant;
    return Response.json({
      access_token: await seals.seal("access", {
        grant: id,
        office,
        resource,
        expiresAt,
      }),
      token_type: "Bearer",
      expires_in: Math.floor((expiresAt - now) / 1000),
      refresh_token: await seals.seal("refresh", { grant: id, number }),
      scope: SCOPE,
    }, { headers: NO_STORE });
  }

  /** Ends the grant of a token; always answers the same (RFC 7009 §2.2). */
  readonly #revoke = async (form: Parameters): Promise<Response> => {
    const { grants } = this.#parts;
    const store = await this.#parts.store();
    const seals = await this.#parts.seals();
    const token = form.get("token") ?? "";
    const claims = await seals.open("refresh", token) ??
      await seals.open("access", token);
    const grant = claims && await store.grant(claims.grant);
    const isOwn = grant !== undefined &&
      (form.get("client_id") ?? grant.client.id) === grant.client.id;
    if (isOwn) await grants.end(grant, "revoked");
    return new Response(null, { status: 200, headers: NO_STORE });
  };
}

const invalidGrant = (message: string): OAuthFault =>
  new OAuthFault("invalid_grant", message);
