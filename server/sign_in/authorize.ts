/**
 * `/authorize`: a program sends a person here, who says who they are, then chooses what the program may
 * use, and goes back with a code. Between the pages nothing is kept: each carries what was asked, sealed,
 * and belongs to the browser that has its cookie.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import { isOfficeName } from "../../protocol/names.ts";
import type { ComputerChoice } from "../../shared/computer_choice.ts";
import type { SmcpEnv } from "../http/http_app.ts";
import { failure, log } from "../shared/log.ts";
import type { Clients } from "./clients.ts";
import type { ClientFacts, Grant } from "./grant.ts";
import { partyOf, type SignInParts } from "./grants.ts";
import {
  clientOf,
  maxBody,
  OAuthFault,
  Parameters,
  readForm,
} from "./oauth.ts";
import {
  type Asking,
  choicePage,
  faultPage,
  type Html,
  keyPage,
  leavePage,
  pageHeaders,
} from "./page.ts";
import type { Persons } from "./persons.ts";
import { isSameRedirect, placeOf, withParameters } from "./redirects.ts";
import type { Resources } from "./metadata.ts";
import {
  type Consent,
  type KnownPerson,
  randomId,
  randomText,
  sha256,
} from "./seals.ts";
import type { Tries } from "./tries.ts";

const CONSENT_MS = 600_000;
const CODE_MS = 60_000;
/** Milliseconds after which a grant ends in any case. */
const GRANT_MS = 180 * 86_400_000;

/** The most bytes of the names of Computers among which a person chooses. */
const MAX_NAMES = 16 * 1024;

const CHALLENGE = /^[\w-]{43}$/;

/** What `/authorize` needs. */
interface AuthorizeParts extends SignInParts {
  readonly clients: Clients;
  readonly persons: Persons;
  readonly tries: Tries;
  /** Redirect URIs that the operator allows besides. */
  readonly redirects: readonly string[];
}

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

/**
 * Reads which Computers a person chose.
 *
 * @param shown those on the page; absent where they were too many
 * @param ticked their places in that list
 * @param later whether later ones are among them
 * @returns `undefined` for none at all
 */
export function readChoice(
  shown: readonly string[] | undefined,
  ticked: readonly string[],
  later: boolean,
): ComputerChoice | undefined {
  if (shown === undefined) return { except: [] };
  const isTicked = (_: string, at: number) => ticked.includes(String(at));
  const only = shown.filter(isTicked);
  if (later) return { except: shown.filter((name) => !only.includes(name)) };
  return only.length === 0 ? undefined : { only };
}

/** The page of sign-in. */
export class AuthorizeEndpoint {
  readonly #parts: AuthorizeParts;
  #headers: Promise<Record<string, string>> | undefined;

  constructor(parts: AuthorizeParts) {
    this.#parts = parts;
  }

  /** Adds the routes. */
  mount(app: Hono<SmcpEnv>): void {
    app.get("/authorize", (c) => this.#begin(c));
    // The sealed request comes with the form, and has the names of Computers.
    app.post("/authorize", maxBody(64 * 1024), (c) => this.#goOn(c));
  }

  /** Answers a program's request with the page of the first step. */
  async #begin(c: Context<SmcpEnv>): Promise<Response> {
    const { clients, host, redirects, resources, tries } = this.#parts;
    const address = clientOf(c, host.proxies);
    const query = new Parameters(new URL(c.req.url).search);
    let redirect: string | undefined;
    try {
      if (tries.isExceeded("authorize", address)) {
        throw new OAuthFault("temporarily_unavailable", "too many failures");
      }
      const client = await clients.find(query.get("client_id") ?? "");
      const asked = query.get("redirect_uri");
      redirect = findRedirect(asked, client, redirects);
      const state = query.get("state");
      const { id, name, host: by } = client;
      const browser = randomText(16);
      const consent: Consent = {
        client: { id, name, ...(by !== undefined && { host: by }) },
        redirect,
        ...readRequest(query, resources),
        ...(state !== undefined && { state }),
        browser: await sha256(browser),
        expiresAt: Date.now() + CONSENT_MS,
      };
      const page = await this.#first(consent);
      const answer = await this.#page(page, 200);
      answer.headers.set("Set-Cookie", this.#cookie(consent, browser));
      return answer;
    } catch (error) {
      if (!(error instanceof OAuthFault)) return await this.#fail(error);
      tries.count("authorize", address);
      return await this.#refuse(error, redirect, query);
    }
  }

  /**
   * Refuses a program's request. Before a person has agreed, only a program on this device gets the error:
   * all may register a website, and this Server would lead to it (RFC 9700 §4.11.2).
   */
  async #refuse(
    { code, message }: OAuthFault,
    redirect: string | undefined,
    query: Parameters,
  ): Promise<Response> {
    if (redirect === undefined) {
      return await this.#page(
        faultPage(message),
        code === "temporarily_unavailable" ? 429 : 400,
      );
    }
    const [state, ...others] = query.getAll("state");
    const to = this.#answerTo({
      redirect,
      ...(state && others.length === 0 && { state }),
    }, {
      error: code,
      error_description: message,
    });
    if (placeOf(redirect, this.#parts.redirects)?.kind !== "program") {
      return await this.#page(faultPage(message, to), 400);
    }
    const headers = { ...await this.#ownHeaders(), Location: to };
    return new Response(null, { status: 302, headers });
  }

  /** Answers a form of one of the pages. */
  async #goOn(c: Context<SmcpEnv>): Promise<Response> {
    try {
      this.#checkOrigin(c);
      const form = await readForm(c);
      const consent = await this.#open(form.get("consent") ?? "", c);
      if (form.get("decision") !== "allow") {
        return await this.#deny(consent, c);
      }
      return consent.known === undefined
        ? await this.#identify(consent, form, c)
        : await this.#allow(consent, consent.known, form, c);
    } catch (error) {
      if (error instanceof PageFault) {
        return await this.#page(faultPage(error.message), error.status);
      }
      if (!(error instanceof OAuthFault)) return await this.#fail(error);
      return await this.#page(faultPage(error.message), 400);
    }
  }

  /** Answers where something fails, such as the store. */
  async #fail(error: unknown): Promise<Response> {
    log.error("A page of the sign-in failed: {reason}", failure(error));
    const text = "The Server cannot answer now. Try again in a minute.";
    return await this.#page(faultPage(text), 503);
  }

  /** @throws {PageFault} for a form of another site */
  #checkOrigin(c: Context<SmcpEnv>): void {
    const { origin } = new URL(this.#parts.resources.issuer);
    const site = c.req.header("sec-fetch-site") ?? "same-origin";
    const from = c.req.header("origin") ?? origin;
    if (site === "same-origin" && from === origin) return;
    throw new PageFault(403, "This form came from another site.");
  }

  /** @throws {PageFault} for one that is too old, or of another browser */
  async #open(sealed: string, c: Context<SmcpEnv>): Promise<Consent> {
    const seals = await this.#parts.seals();
    const consent = await seals.open("consent", sealed);
    if (consent === undefined || consent.expiresAt <= Date.now()) {
      throw new PageFault(
        400,
        "This page is too old. Start again in your program.",
      );
    }
    const name = `${this.#cookieName(consent)}=`;
    const cookie = (c.req.header("cookie") ?? "").split(/;\s*/)
      .find((each) => each.startsWith(name))?.slice(name.length);
    if (cookie !== undefined && await sha256(cookie) === consent.browser) {
      return consent;
    }
    throw new PageFault(
      403,
      "This page belongs to another browser. Start again in your program.",
    );
  }

  /** Finds out who the person is, and answers with the second step. */
  async #identify(
    consent: Consent,
    form: Parameters,
    c: Context<SmcpEnv>,
  ): Promise<Response> {
    const { host, persons, tries } = this.#parts;
    const address = clientOf(c, host.proxies);
    const office = consent.office ?? form.get("office")?.trim() ?? "";
    if (tries.isExceeded("key", address)) {
      return await this.#again(
        consent,
        office,
        "Too many tries. Wait a minute.",
        429,
      );
    }
    const person = isOfficeName(office)
      ? await persons.find(form, office, address)
      : { refused: "no office" };
    if ("refused" in person) {
      tries.count("key", address);
      host.audit({
        event: "sign_in_refused",
        reason: person.refused,
        address,
        office,
        ...programOf(consent),
      });
      return await this.#again(consent, office, persons.refusal, 401);
    }
    const computers = await host.computersOf(office);
    const isShort = JSON.stringify(computers).length <= MAX_NAMES;
    const known: KnownPerson = {
      ...person,
      office,
      ...(isShort && { computers }),
    };
    return await this.#page(
      await this.#second({ ...consent, known }, known),
      200,
    );
  }

  async #again(
    consent: Consent,
    named: string,
    problem: string,
    status: number,
  ): Promise<Response> {
    return await this.#page(await this.#first(consent, named, problem), status);
  }

  /** Makes the code for what the person chose. */
  async #allow(
    consent: Consent,
    known: KnownPerson,
    form: Parameters,
    c: Context<SmcpEnv>,
  ): Promise<Response> {
    const { host, persons, resources } = this.#parts;
    const ticked = form.getAll("computer");
    const later = form.get("later") !== undefined;
    const computers = readChoice(known.computers, ticked, later);
    if (computers === undefined) {
      const problem = "Tick a computer, or those that join later.";
      return await this.#page(await this.#second(consent, known, problem), 400);
    }
    const { by, office, expiresAt = Infinity } = known;
    const { known: _, ...asked } = consent;
    if (!await persons.mayStill(by, office)) {
      return await this.#again(
        asked,
        office,
        persons.refusal,
        401,
      );
    }
    const now = Date.now();
    const grant: Grant = {
      id: randomId(),
      by,
      office,
      resource: resources.pathOf(consent.office),
      client: consent.client,
      computers,
      createdAt: now,
      expiresAt: Math.min(now + GRANT_MS, expiresAt),
      number: 0,
      rotatedAt: [],
    };
    const code = randomText();
    const store = await this.#parts.store();
    await store.putCode(await sha256(code), {
      grant,
      challenge: consent.challenge,
      redirect: consent.redirect,
      expiresAt: now + CODE_MS,
    });
    const address = clientOf(c, host.proxies);
    host.audit({
      event: "sign_in_allowed",
      grant: grant.id,
      address,
      ...partyOf(grant),
    });
    return await this.#leave(consent, { code });
  }

  async #deny(consent: Consent, c: Context<SmcpEnv>): Promise<Response> {
    const { host } = this.#parts;
    const { known, office = known?.office } = consent;
    host.audit({
      event: "sign_in_denied",
      address: clientOf(c, host.proxies),
      ...(office !== undefined && { office }),
      ...(known && { principal: known.by.principal }),
      ...programOf(consent),
    });
    return await this.#leave(consent, {
      error: "access_denied",
      error_description: "the person did not allow it",
    });
  }

  async #leave(
    consent: Consent,
    parameters: Readonly<Record<string, string>>,
  ): Promise<Response> {
    const to = this.#answerTo(consent, parameters);
    const program = consent.client.name || "your program";
    return await this.#page(leavePage(to, program), 200);
  }

  /** Makes the URL of an answer, which names the issuer (RFC 9207). */
  #answerTo(
    { redirect, state }: Pick<Consent, "redirect" | "state">,
    parameters: Readonly<Record<string, string>>,
  ): string {
    return withParameters(redirect, {
      ...parameters,
      ...(state !== undefined && { state }),
      iss: this.#parts.resources.issuer,
    });
  }

  async #first(
    consent: Consent,
    named?: string,
    problem?: string,
  ): Promise<Html> {
    const { asksKey } = this.#parts.persons;
    const asking = await this.#asking(consent, problem);
    return keyPage({ ...asking, office: consent.office, named, asksKey });
  }

  async #second(
    consent: Consent,
    { office, computers }: KnownPerson,
    problem?: string,
  ): Promise<Html> {
    const seat = await this.#parts.host.agentOf(office);
    const asking = await this.#asking(consent, problem);
    return choicePage({ ...asking, office, computers, seat });
  }

  async #asking(consent: Consent, problem?: string): Promise<Asking> {
    const { redirects, resources } = this.#parts;
    const place = placeOf(consent.redirect, redirects);
    if (place === undefined) throw new PageFault(400, "The redirect changed.");
    const seals = await this.#parts.seals();
    return {
      client: consent.client,
      place,
      server: new URL(resources.issuer).host,
      consent: await seals.seal("consent", consent),
      action: `${resources.issuer}/authorize`,
      problem,
    };
  }

  async #page(page: Html, status: number): Promise<Response> {
    return new Response(String(await page), {
      status,
      headers: {
        ...await this.#ownHeaders(),
        "Content-Type": "text/html; charset=utf-8",
        ...(status === 429 && { "Retry-After": "60" }),
      },
    });
  }

  #ownHeaders(): Promise<Record<string, string>> {
    return this.#headers ??= pageHeaders();
  }

  /** Each page has a cookie of its own, so that two at once do not disturb each other. */
  #cookieName({ browser }: Pick<Consent, "browser">): string {
    const prefix = this.#isSecure ? "__Host-" : "";
    return `${prefix}smcp-consent-${browser.slice(0, 8)}`;
  }

  #cookie(consent: Pick<Consent, "browser">, value: string): string {
    const { pathname } = new URL(`${this.#parts.resources.issuer}/authorize`);
    const attributes = [
      `${this.#cookieName(consent)}=${value}`,
      this.#isSecure ? "Path=/; Secure" : `Path=${pathname}`,
      `HttpOnly; SameSite=Strict; Max-Age=${CONSENT_MS / 1000}`,
    ];
    return attributes.join("; ");
  }

  get #isSecure(): boolean {
    return this.#parts.resources.issuer.startsWith("https:");
  }
}

/** A form that a page answers. */
class PageFault extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const programOf = ({ client: { name, host } }: Consent) => ({
  program: name,
  ...(host !== undefined && { vouched_by: host }),
});
