/**
 * `/authorize`: a program sends a person here, who proves who they are, then chooses what the program may
 * use, and goes back with a code. Between the pages nothing is kept: each carries what was asked, sealed,
 * and belongs to the browser that has its cookie.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { Context, Hono } from "hono";
import { isOfficeName } from "../../protocol/names.ts";
import type { Refused } from "../auth/authenticator.ts";
import type { SmcpEnv } from "../http/http_app.ts";
import { log, reasonOf } from "../shared/log.ts";
import { type Clients, findRedirect, readRequest } from "./clients.ts";
import type { Grant } from "./grant.ts";
import { partyOf, programOf, type SignInParts } from "./grants.ts";
import {
  checkForm,
  clientOf,
  maxBody,
  OAuthFault,
  PageFault,
  Parameters,
  readForm,
  type SignInTries,
} from "./oauth.ts";
import {
  type Asking,
  choicePage,
  faultPage,
  type Html,
  keyPage,
  leavePage,
  pageHeaders,
  readChoice,
} from "./page.ts";
import type { Person, PersonsHere } from "./persons.ts";
import type { ProviderPersons, VisitKey } from "./provider.ts";
import { placeOf, withParameters } from "./redirects.ts";
import {
  type Consent,
  type KnownPerson,
  PageCookies,
  randomId,
  randomText,
  sha256,
} from "./seals.ts";

const CONSENT_MS = 600_000;
const CODE_MS = 60_000;
/** Milliseconds after which a grant ends in any case. */
const GRANT_MS = 180 * 86_400_000;

/** The most bytes of the names of Computers among which a person chooses. */
const MAX_NAMES = 16 * 1024;

/** What `/authorize` needs. */
interface AuthorizeParts extends SignInParts {
  readonly clients: Clients;
  readonly persons: PersonsHere | ProviderPersons;
  readonly tries: SignInTries;
  /** Redirect URIs that the operator allows besides. */
  readonly redirects: readonly string[];
}

/** The page of sign-in. */
export class AuthorizeEndpoint {
  readonly #parts: AuthorizeParts;
  readonly #cookies: PageCookies;
  #headers: Promise<Record<string, string>> | undefined;

  constructor(parts: AuthorizeParts) {
    this.#parts = parts;
    this.#cookies = new PageCookies(parts.resources, {
      maxAgeMs: CONSENT_MS,
      // A provider sends the person back, from another site.
      sameSite: "host" in parts.persons ? "Lax" : "Strict",
    });
  }

  /** Adds the routes. */
  mount(app: Hono<SmcpEnv>): void {
    app.get("/authorize", (c) => this.#begin(c));
    // The sealed request comes with the form, and has the names of Computers; of each a tick may follow.
    app.post("/authorize", maxBody(128 * 1024), (c) => this.#goOn(c));
    const { persons } = this.#parts;
    if ("host" in persons) {
      app.get("/authorize/callback", (c) => this.#comeBack(persons, c));
    }
  }

  /** Answers a program's request with the page of the first step. */
  async #begin(c: Context<SmcpEnv>): Promise<Response> {
    const { clients, host, redirects, resources, tries } = this.#parts;
    const address = clientOf(c, host.proxies);
    const query = new Parameters(new URL(c.req.url).search);
    let redirect: string | undefined;
    try {
      const mayFetch = !tries.isExceeded("authorize", address);
      const client = await clients.find(
        query.get("client_id") ?? "",
        mayFetch,
      );
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
      answer.headers.set("Set-Cookie", this.#cookies.make(consent, browser));
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
      checkForm(c, this.#parts.resources.issuer);
      const form = await readForm(c);
      const consent = await this.#open(form.get("consent") ?? "", c);
      if (form.get("decision") !== "allow") {
        return await this.#deny(consent, c);
      }
      return consent.known === undefined
        ? await this.#identify(consent, form, c)
        : await this.#allow(consent, consent.known, form, c);
    } catch (error) {
      return await this.#fail(error);
    }
  }

  /** Answers a request that cannot go on, and where something fails, such as the store. */
  async #fail(error: unknown): Promise<Response> {
    if (error instanceof PageFault) {
      return await this.#page(faultPage(error.message), error.status);
    }
    if (error instanceof OAuthFault) {
      return await this.#page(faultPage(error.message), 400);
    }
    log.error("A page of the sign-in failed: {reason}", reasonOf(error));
    const text = "The Server cannot answer now. Try again in a minute.";
    return await this.#page(faultPage(text), 503);
  }

  /** @throws {PageFault} for one that is too old, or of another browser */
  async #open(sealed: string, c: Context<SmcpEnv>): Promise<Consent> {
    const seals = await this.#parts.seals();
    const consent = await seals.open("consent", sealed);
    if (consent === undefined || consent.expiresAt <= Date.now()) {
      throw tooOld();
    }
    await this.#cookieOf(consent, c);
    return consent;
  }

  /**
   * Returns the cookie that belongs to a page.
   *
   * @throws {PageFault} for a page of another browser
   */
  async #cookieOf(consent: Consent, c: Context<SmcpEnv>): Promise<string> {
    const cookie = await this.#cookies.find(consent, c.req.header("cookie"));
    if (cookie !== undefined) return cookie;
    throw new PageFault(
      403,
      "This page belongs to another browser. Start again in your program.",
    );
  }

  /** Finds out who the person is: here, or by the provider, where the person goes first. */
  async #identify(
    consent: Consent,
    form: Parameters,
    c: Context<SmcpEnv>,
  ): Promise<Response> {
    const { host, persons, tries } = this.#parts;
    const address = clientOf(c, host.proxies);
    const office = consent.office ?? form.get("office")?.trim() ?? "";
    if (tries.isExceeded("key", address)) {
      return await this.#again(consent, office, TOO_MANY, 429);
    }
    if (!("host" in persons)) {
      const person = await tries.judge(
        "key",
        address,
        async () =>
          isOfficeName(office)
            ? await persons.find(form, office, address)
            : { refused: "no office" },
      );
      return await this.#welcome(consent, office, person, address);
    }
    if (!isOfficeName(office)) {
      return await this.#again(consent, office, "Name an office.", 400);
    }
    const cookie = await this.#cookieOf(consent, c);
    const seals = await this.#parts.seals();
    const visit = randomText(16);
    const state = await seals.seal("trip", { consent, office, visit });
    try {
      const to = await persons.begin(this.#visitOf(visit, state, cookie));
      return await this.#page(
        leavePage(to, `Going to ${persons.host}.`, "Sign in"),
        200,
      );
    } catch (error) {
      return await this.#noAnswer(consent, office, persons, error);
    }
  }

  /** Answers a person whom the provider sends back. */
  async #comeBack(
    persons: ProviderPersons,
    c: Context<SmcpEnv>,
  ): Promise<Response> {
    const { host, tries } = this.#parts;
    try {
      const { searchParams } = new URL(c.req.url);
      const query = new Parameters(searchParams.toString());
      const state = query.get("state") ?? "";
      const trip = await (await this.#parts.seals()).open("trip", state);
      if (trip === undefined || trip.consent.expiresAt <= Date.now()) {
        throw tooOld();
      }
      const { consent, office, visit } = trip;
      const cookie = await this.#cookieOf(consent, c);
      const address = clientOf(c, host.proxies);
      if (tries.isExceeded("key", address)) {
        return await this.#again(consent, office, TOO_MANY, 429);
      }
      const key = this.#visitOf(visit, state, cookie);
      let person: Person | Refused;
      try {
        person = await persons.find(searchParams, key, office);
      } catch (error) {
        return await this.#noAnswer(consent, office, persons, error);
      }
      if ("refused" in person) tries.count("key", address);
      return await this.#welcome(consent, office, person, address);
    } catch (error) {
      return await this.#fail(error);
    }
  }

  #visitOf(visit: string, state: string, cookie: string): VisitKey {
    const redirect = `${this.#parts.resources.issuer}/authorize/callback`;
    return { redirect, state, visit, cookie };
  }

  /** Answers where the provider fails: nothing else does, so that it can be tried again. */
  async #noAnswer(
    consent: Consent,
    office: string,
    { host }: ProviderPersons,
    error: unknown,
  ): Promise<Response> {
    log.error("The provider of the sign-in failed: {reason}", reasonOf(error));
    const problem = `${host} cannot be asked now. Try again in a minute.`;
    return await this.#again(consent, office, problem, 503);
  }

  /** Answers with the second step, or with the first one again where the person is refused. */
  async #welcome(
    consent: Consent,
    office: string,
    person: Person | Refused,
    address: string,
  ): Promise<Response> {
    const { host, persons } = this.#parts;
    if ("refused" in person) {
      host.audit({
        event: "sign_in_refused",
        reason: person.refused,
        address,
        office,
        ...programOf(consent),
      });
      const problem = person.shown ?? persons.refusal;
      return await this.#again(consent, office, problem, 401);
    }
    const computers = await host.computersOf(office);
    const isShort = Buffer.byteLength(JSON.stringify(computers)) <= MAX_NAMES;
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
    if (await persons.mayStill(by, office) === undefined) {
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
    const text = `Going back to ${program}.`;
    return await this.#page(leavePage(to, text, "Done"), 200);
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
    const { persons } = this.#parts;
    const asking = await this.#asking(consent, problem);
    return keyPage({
      ...asking,
      office: consent.office,
      named,
      by: "host" in persons ? persons : persons.asksKey ? "key" : "button",
    });
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
}

const tooOld = (): PageFault =>
  new PageFault(400, "This page is too old. Start again in your program.");

const TOO_MANY = "Too many tries. Wait a minute.";
