/**
 * The first step of `/authorize`: who the person is, by a key that is typed here, or by a provider where the
 * person goes and comes back from.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { Context } from "hono";
import { isOfficeName } from "../../../protocol/names.ts";
import type { SmcpEnv } from "../../http/http_app.ts";
import { log, reasonOf } from "../../shared/log.ts";
import { programOf } from "../grants.ts";
import { clientOf, PageFault, Parameters, type SignInTries } from "../oauth.ts";
import type { Person, PersonsHere } from "../persons.ts";
import type { ProviderPersons, VisitKey } from "../provider.ts";
import { type Consent, randomText } from "../seals.ts";
import type { Refused } from "../../auth/authenticator.ts";
import type { PageAnswers, PageParts } from "./answers.ts";
import type { PageCookies } from "./cookies.ts";

/** The most bytes of the names of Computers among which a person chooses. */
const MAX_NAMES = 16 * 1024;

/** What {@linkcode Identification} needs. */
export interface IdentifyParts extends PageParts {
  readonly tries: SignInTries;
}

/** A person's answer to the first step. */
interface Step {
  readonly consent: Consent;
  /** The office that the program or the person named. */
  readonly office: string;
  /** That of the person. */
  readonly address: string;
}

/** Finds out who a person is. */
export class Identification {
  readonly #parts: IdentifyParts;
  readonly #pages: PageAnswers;
  readonly #cookies: PageCookies;

  constructor(parts: IdentifyParts, pages: PageAnswers, cookies: PageCookies) {
    this.#parts = parts;
    this.#pages = pages;
    this.#cookies = cookies;
  }

  /** Answers the form of the first step. */
  async answer(
    consent: Consent,
    form: Parameters,
    c: Context<SmcpEnv>,
  ): Promise<Response> {
    const { host, persons, tries } = this.#parts;
    const address = clientOf(c, host.proxies);
    const office = consent.office ?? form.get("office")?.trim() ?? "";
    const step = { consent, office, address };
    if (tries.isExceeded("key", address)) return await this.#tooMany(step);
    return "host" in persons
      ? await this.#goToProvider(step, persons, c)
      : await this.#findHere(step, persons, form);
  }

  async #findHere(
    step: Step,
    persons: PersonsHere,
    form: Parameters,
  ): Promise<Response> {
    const { office, address } = step;
    const judge = async (): Promise<Person | Refused> =>
      isOfficeName(office)
        ? await persons.find(form, office, address)
        : { refused: "no office" };
    const person = await this.#parts.tries.judge("key", address, judge);
    return await this.#welcome(step, person);
  }

  async #goToProvider(
    { consent, office }: Step,
    persons: ProviderPersons,
    c: Context<SmcpEnv>,
  ): Promise<Response> {
    if (!isOfficeName(office)) {
      const text = "Name an office.";
      return await this.#pages.first(consent, office, { text, status: 400 });
    }
    const cookie = await this.#cookies.find(consent, c);
    const seals = await this.#parts.seals();
    const visit = randomText(16);
    const state = await seals.seal("trip", { consent, office, visit });
    try {
      const to = await persons.begin(this.#visitOf(visit, state, cookie));
      const text = `Going to ${persons.host}.`;
      return await this.#pages.leave(to, text, "Sign in");
    } catch (error) {
      return await this.#noAnswer(consent, office, persons, error);
    }
  }

  /** Answers a person whom the provider sends back. */
  async comeBack(
    persons: ProviderPersons,
    c: Context<SmcpEnv>,
  ): Promise<Response> {
    const { host, tries } = this.#parts;
    const { searchParams } = new URL(c.req.url);
    const query = new Parameters(searchParams.toString());
    const state = query.get("state") ?? "";
    const trip = await (await this.#parts.seals()).open("trip", state);
    if (trip === undefined || trip.consent.expiresAt <= Date.now()) {
      throw tooOld();
    }
    const { consent, office, visit } = trip;
    const cookie = await this.#cookies.find(consent, c);
    const address = clientOf(c, host.proxies);
    const step = { consent, office, address };
    if (tries.isExceeded("key", address)) return await this.#tooMany(step);
    let person: Person | Refused;
    try {
      const key = this.#visitOf(visit, state, cookie);
      person = await persons.find(searchParams, key, office);
    } catch (error) {
      return await this.#noAnswer(consent, office, persons, error);
    }
    if ("refused" in person) tries.count("key", address);
    return await this.#welcome(step, person);
  }

  #visitOf(visit: string, state: string, cookie: string): VisitKey {
    const redirect = `${this.#parts.resources.issuer}/authorize/callback`;
    return { redirect, state, visit, cookie };
  }

  #tooMany({ consent, office }: Step): Promise<Response> {
    const text = "Too many tries. Wait a minute.";
    return this.#pages.first(consent, office, { text, status: 429 });
  }

  /** Answers where the provider fails: nothing else does, so that it can be tried again. */
  async #noAnswer(
    consent: Consent,
    office: string,
    { host }: ProviderPersons,
    error: unknown,
  ): Promise<Response> {
    log.error("The provider of the sign-in failed: {reason}", reasonOf(error));
    const text = `${host} cannot be asked now. Try again in a minute.`;
    return await this.#pages.first(consent, office, { text, status: 503 });
  }

  /** Answers with the second step, or with the first one again where the person is refused. */
  async #welcome(
    { consent, office, address }: Step,
    person: Person | Refused,
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
      const text = person.shown ?? persons.refusal;
      return await this.#pages.first(consent, office, { text, status: 401 });
    }
    const computers = await host.computersOf(office);
    const isShort = Buffer.byteLength(JSON.stringify(computers)) <= MAX_NAMES;
    const known = { ...person, office, ...(isShort && { computers }) };
    return await this.#pages.second({ ...consent, known }, known);
  }
}

/** The fault of a page that has waited for too long, or was not made here. */
export const tooOld = (): PageFault =>
  new PageFault(400, "This page is too old. Start again in your program.");
