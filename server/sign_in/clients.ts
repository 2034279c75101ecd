/**
 * Which programs there are. A program is a document at its own URL, whose host vouches for its name
 * (client ID metadata documents), or a registration, which is its own `client_id` (RFC 7591, appendix
 * A.5.2): nothing is stored, so floods fill nothing and a restart forgets none. That has no MAC, since
 * all may register: forging one gains nothing.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { isIP } from "node:net";
import * as z from "../../protocol/schema.ts";
import { fetchPublic } from "../../shared/net/public_fetch.ts";
import type { ClientFacts } from "./grant.ts";
import type { Resources } from "./metadata.ts";
import { OAuthFault, type Parameters } from "./oauth.ts";
import { isSameRedirect, placeOf } from "./redirects.ts";
import type { Consent } from "./seals.ts";
import { dropOldest } from "./secret.ts";

/** Fetches the document of a program, whose URL strangers choose: it follows no redirect. */
export type FetchDocument = (url: URL) => Promise<Response>;

const text = z.string().check(z.maxLength(2048));

/** What counts in a document or a registration; they have more fields, and in forms of their own. */
const metadata = z.looseObject({
  client_name: z.optional(z.nullable(text)),
  redirect_uris: z.array(text).check(z.minLength(1), z.maxLength(32)),
});

const MAX_NAME = 60;

/**
 * Makes a name that can be shown in one line and in quotes: without control, invisible and direction characters,
 * without quotes of its own, and without accents that pile up over other lines.
 */
export const nameToShow = (name: string): string =>
  [
    ...name.normalize("NFKC")
      .replace(/[\p{C}\p{Zl}\p{Zp}\p{DI}]/gu, " ")
      .replace(/[“”„‟«»〝〞]/g, "'")
      .replace(/(\p{M}{2})\p{M}+/gu, "$1")
      .replace(/\s+/g, " ").trim(),
  ].slice(0, MAX_NAME).join("");

/**
 * Reads what a program states of itself. Redirect URIs that cannot be used are left out: Cursor registers
 * three at once.
 *
 * @throws {OAuthFault}
 */
function readFacts(
  data: unknown,
  more: readonly string[],
): Pick<ClientFacts, "name" | "redirects"> {
  const read = metadata.safeParse(data);
  if (!read.success) {
    throw new OAuthFault(
      "invalid_client_metadata",
      "expected a JSON object with redirect_uris, a list of 1 to 32 URIs",
    );
  }
  const { redirect_uris, client_name } = read.data;
  const redirects = redirect_uris
    .filter((uri) => placeOf(uri, more) !== undefined);
  if (redirects.length === 0) {
    throw new OAuthFault(
      "invalid_redirect_uri",
      "redirect_uris: expected https with a host name, http on 127.0.0.1, [::1] or localhost, or the scheme of an app with a dot in it",
    );
  }
  return { name: nameToShow(client_name ?? ""), redirects };
}

const REGISTERED = "smcp_client_";
const MAX_ID = 2048;

/**
 * Registers a program.
 *
 * @param data what it sent
 * @param more redirect URIs that the operator allows besides
 * @throws {OAuthFault}
 */
export function registerClient(
  data: unknown,
  more: readonly string[],
): ClientFacts {
  const { name, redirects } = readFacts(data, more);
  const kept = { client_name: name, redirect_uris: redirects };
  const id = REGISTERED +
    Buffer.from(JSON.stringify(kept)).toString("base64url");
  if (id.length <= MAX_ID) return { id, name, redirects };
  throw new OAuthFault(
    "invalid_client_metadata",
    "redirect_uris: too long in all, send fewer",
  );
}

/** Reads a registration out of its id; `undefined` for what is none. */
function readRegistration(
  id: string,
  more: readonly string[],
): ClientFacts | undefined {
  if (!id.startsWith(REGISTERED) || id.length > MAX_ID) return undefined;
  const json = Buffer.from(id.slice(REGISTERED.length), "base64url");
  try {
    return { id, ...readFacts(JSON.parse(json.toString()), more) };
  } catch {
    return undefined;
  }
}

const MAX_URL = 512;

/** Returns the URL of a document that an id is; `undefined` for what cannot be one. */
export function documentUrl(id: string): URL | undefined {
  const url = id.length <= MAX_URL ? URL.parse(id) : null;
  const isUsable = url !== null && url.protocol === "https:" &&
    url.href === id && url.pathname !== "/" && url.username === "" &&
    url.password === "" && !id.includes("#") && url.port === "" &&
    url.hostname.includes(".") && !url.hostname.endsWith(".") &&
    isIP(url.hostname.replace(/^\[(.*)\]$/, "$1")) === 0;
  return isUsable ? url : undefined;
}

const unknownClient = (): OAuthFault =>
  new OAuthFault(
    "invalid_client",
    "client_id: unknown; register again, or send the URL of a client ID metadata document",
  );

/** One text for whatever is wrong with a document, which reveals nothing of the network behind this Server. */
const unusableDocument = (): OAuthFault =>
  new OAuthFault(
    "invalid_client",
    "client_id: its document cannot be read; expected JSON of at most 10 KiB at a public address, with this client_id and redirect_uris, within 5 seconds and without a redirect",
  );

const BOUNDS = { maxBytes: 10 * 1024, timeoutMs: 5000 };

/** How long a document is kept: as its headers state, but within these. */
const MIN_KEPT_MS = 300_000;
const MAX_KEPT_MS = 86_400_000;
/** How long a failure is. */
const FAILED_MS = 30_000;
const MAX_DOCUMENTS = 100;
/** The most that are on their way: strangers choose whom this Server asks, and for how long it waits. */
const MAX_LOADING = 20;

/** A document that is kept, or on its way. */
interface Kept {
  readonly facts: Promise<ClientFacts>;
  until: number;
}

/** Finds programs by their ids, and keeps their documents for a time. */
export class Clients {
  readonly #redirects: readonly string[];
  readonly #fetch: FetchDocument;
  readonly #kept = new Map<string, Kept>();
  /** How many documents are on their way. */
  #loading = 0;

  /** @param redirects those that the operator allows besides */
  constructor(
    redirects: readonly string[],
    fetch: FetchDocument = (url) => fetchPublic(url, BOUNDS),
  ) {
    this.#redirects = redirects;
    this.#fetch = fetch;
  }

  /** Returns whether an id can be that of a program, without fetching its document. */
  isKnown(id: string): boolean {
    return documentUrl(id) !== undefined ||
      readRegistration(id, this.#redirects) !== undefined;
  }

  /**
   * Finds a program.
   *
   * @param mayFetch whether a document that is not kept is fetched
   * @throws {OAuthFault}
   */
  async find(id: string, mayFetch: boolean): Promise<ClientFacts> {
    const registered = readRegistration(id, this.#redirects);
    if (registered !== undefined) return registered;
    const url = documentUrl(id);
    if (url === undefined) throw unknownClient();
    const now = Date.now();
    const kept = this.#kept.get(id);
    if (kept !== undefined && kept.until > now) return await kept.facts;
    if (!mayFetch || this.#loading >= MAX_LOADING) {
      throw new OAuthFault(
        "temporarily_unavailable",
        "client_id: too many programs are looked up now; try again in a minute",
      );
    }
    const entry = this.#load(id, url);
    this.#kept.delete(id);
    this.#kept.set(id, entry);
    dropOldest(this.#kept, MAX_DOCUMENTS);
    return await entry.facts;
  }

  #load(id: string, url: URL): Kept {
    const read = async () => {
      const answer = await this.#fetch(url);
      const facts = await readDocument(id, url, answer, this.#redirects);
      entry.until = Date.now() + keptMs(answer.headers.get("cache-control"));
      return facts;
    };
    this.#loading++;
    const facts = read().catch(() => {
      entry.until = Date.now() + FAILED_MS;
      throw unusableDocument();
    }).finally(() => this.#loading--);
    const entry: Kept = { facts, until: Infinity };
    return entry;
  }
}

const JSON_TYPE = /^application\/([\w.-]+\+)?json *(;|$)/i;

async function readDocument(
  id: string,
  { hostname }: URL,
  answer: Response,
  more: readonly string[],
): Promise<ClientFacts> {
  const type = answer.headers.get("content-type") ?? "";
  if (answer.status !== 200 || !JSON_TYPE.test(type)) {
    await answer.body?.cancel();
    throw unusableDocument();
  }
  const data: unknown = JSON.parse(await answer.text());
  const { client_id }: { client_id?: unknown } = Object(data);
  if (client_id !== id) throw unusableDocument();
  return { id, host: hostname, ...readFacts(data, more) };
}

/** Returns how long a document with such a header is kept. */
export function keptMs(cacheControl: string | null): number {
  const [, seconds] = /(?:^|[\s,])max-age="?(\d{1,9})/i
    .exec(cacheControl ?? "") ?? [];
  const stated = Number(seconds ?? 0) * 1000;
  return Math.min(Math.max(stated, MIN_KEPT_MS), MAX_KEPT_MS);
}

const CHALLENGE = /^[\w-]{43}$/;

/** What a program asks for, by the rules for the query alone. */
type Asked = Pick<Consent, "challenge" | "office">;

/**
 * Checks what a program asks for.
 *
 * @throws {OAuthFault}
 */
export function readRequest(query: Parameters, resources: Resources): Asked {
  if (query.get("response_type") !== "code") {
    throw new OAuthFault(
      "unsupported_response_type",
      "response_type: expected code",
    );
  }
  if ((query.get("response_mode") ?? "query") !== "query") {
    throw new OAuthFault("invalid_request", "response_mode: expected query");
  }
  if ((query.get("request") ?? query.get("request_uri")) !== undefined) {
    throw new OAuthFault(
      "request_not_supported",
      "request objects are not supported",
    );
  }
  const challenge = query.get("code_challenge") ?? "";
  const isS256 = query.get("code_challenge_method") === "S256";
  if (!isS256 || !CHALLENGE.test(challenge)) {
    throw new OAuthFault(
      "invalid_request",
      "PKCE: expected code_challenge with code_challenge_method=S256",
    );
  }
  if (query.get("prompt") === "none") {
    throw new OAuthFault("interaction_required", "a person must allow it");
  }
  query.get("scope"); // whatever it is: there is one scope
  const resource = query.get("resource");
  const { office } = resource === undefined
    ? { office: undefined }
    : resources.find(resource);
  return { challenge, ...(office !== undefined && { office }) };
}

/**
 * Finds the redirect URI of a request; a program that registered one alone may leave it out.
 *
 * @throws {OAuthFault} for one that is not the program's
 */
export function findRedirect(
  asked: string | undefined,
  { redirects }: Pick<ClientFacts, "redirects">,
  more: readonly string[],
): string {
  const [only, ...others] = redirects;
  const redirect = asked ?? (others.length === 0 ? only : undefined);
  const isOwn = redirect !== undefined &&
    placeOf(redirect, more) !== undefined &&
    redirects.some((each) => isSameRedirect(each, redirect));
  if (isOwn) return redirect;
  throw new OAuthFault(
    "invalid_request",
    "redirect_uri: not one that this program registered",
  );
}
