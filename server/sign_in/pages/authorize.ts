/**
 * `/authorize`: a program sends a person here, who proves who they are, then chooses what the program may
 * use, and goes back with a code. Between the pages nothing is kept: each carries what was asked, sealed,
 * and belongs to the browser that has its cookie.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import type { SmcpEnv } from "../../http/http_app.ts";
import { type Clients, findRedirect, readRequest } from "../clients.ts";
import type { Grant } from "../grant.ts";
import { partyOf, programOf } from "../grants.ts";
import {
  checkForm,
  clientOf,
  maxBody,
  OAuthFault,
  Parameters,
  readForm,
} from "../oauth.ts";
import {
  type Consent,
  type KnownPerson,
  randomId,
  randomText,
  sha256,
} from "../seals.ts";
import { PageAnswers } from "./answers.ts";
import { PageCookies } from "./cookies.ts";
import { Identification, type IdentifyParts, tooOld } from "./identify.ts";
import { readChoice } from "./page.ts";

const CONSENT_MS = 600_000;
const CODE_MS = 60_000;
/** Milliseconds after which a grant ends in any case. */
const GRANT_MS = 180 * 86_400_000;

/** What `/authorize` needs. */
interface AuthorizeParts extends IdentifyParts {
  readonly clients: Clients;
}

/** The page of sign-in. */
export class AuthorizeEndpoint {
  readonly #parts: AuthorizeParts;
  readonly #cookies: PageCookies;
  readonly #pages: PageAnswers;
  readonly #identification: Identification;

  constructor(parts: AuthorizeParts) {
    this.#parts = parts;
    this.#cookies = new PageCookies(parts.resources, {
      maxAgeMs: CONSENT_MS,
      // A provider sends the person back, from another site.
      sameSite: "host" in parts.persons ? "Lax" : "Strict",
    });
    this.#pages = new PageAnswers(parts);
    this.#identification = new Identification(
      parts,
      this.#pages,
      this.#cookies,
    );
  }

  /** Adds the routes. */
  mount(app: Hono<SmcpEnv>): void {
    const failed = (error: unknown) => this.#pages.fail(error);
    app.get("/authorize", (c) => this.#begin(c));
    // The sealed request comes with the form, and has the names of Computers; of each a tick may follow.
    app.post(
      "/authorize",
      maxBody(128 * 1024),
      (c) => this.#goOn(c).catch(failed),
    );
    const { persons } = this.#parts;
    if ("host" in persons) {
      app.get(
        "/authorize/callback",
        (c) => this.#identification.comeBack(persons, c).catch(failed),
      );
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
      const answer = await this.#pages.first(consent);
      answer.headers.set("Set-Cookie", this.#cookies.make(consent, browser));
      return answer;
    } catch (error) {
      if (!(error instanceof OAuthFault)) return await this.#pages.fail(error);
      tries.count("authorize", address);
      const [state, ...others] = query.getAll("state");
      return await this.#pages.refuse(
        error,
        redirect === undefined ? undefined : {
          redirect,
          ...(state && others.length === 0 && { state }),
        },
      );
    }
  }

  /** Answers a form of one of the pages. */
  async #goOn(c: Context<SmcpEnv>): Promise<Response> {
    checkForm(c, this.#parts.resources.issuer);
    const form = await readForm(c);
    const seals = await this.#parts.seals();
    const consent = await seals.open("consent", form.get("consent") ?? "");
    if (consent === undefined || consent.expiresAt <= Date.now()) {
      throw tooOld();
    }
    await this.#cookies.find(consent, c);
    if (form.get("decision") !== "allow") return await this.#deny(consent, c);
    return consent.known === undefined
      ? await this.#identification.answer(consent, form, c)
      : await this.#allow(consent, consent.known, form, c);
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
      const text = "Tick a computer, or those that join later.";
      return await this.#pages.second(consent, known, { text, status: 400 });
    }
    const { by, office, expiresAt = Infinity } = known;
    const { known: _, ...asked } = consent;
    if (await persons.mayStill(by, office) === undefined) {
      const problem = { text: persons.refusal, status: 401 };
      return await this.#pages.first(asked, office, problem);
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
    host.audit({
      event: "sign_in_allowed",
      grant: grant.id,
      address: clientOf(c, host.proxies),
      ...partyOf(grant),
    });
    return await this.#pages.back(consent, { code });
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
    return await this.#pages.back(consent, {
      error: "access_denied",
      error_description: "the person did not allow it",
    });
  }
}
