/**
 * The answers of `/authorize`: its pages with their headers, and the ways out of them.
 *
 * @module
 */
import { log, reasonOf } from "../../shared/log.ts";
import type { SignInParts } from "../grants.ts";
import { OAuthFault, PageFault } from "../oauth.ts";
import type { PersonsHere } from "../persons.ts";
import type { ProviderPersons } from "../provider.ts";
import { placeOf, withParameters } from "../redirects.ts";
import type { Consent, KnownPerson } from "../seals.ts";
import {
  type Asking,
  choicePage,
  faultPage,
  type Html,
  keyPage,
  leavePage,
  pageHeaders,
} from "./page.ts";

/** What pages are made of. */
export interface PageParts extends SignInParts {
  readonly persons: PersonsHere | ProviderPersons;
  /** Redirect URIs that the operator allows besides. */
  readonly redirects: readonly string[];
}

/** Why a page is shown again. */
interface Problem {
  readonly text: string;
  readonly status: number;
}

const LATER = "The Server cannot answer now. Try again in a minute.";
const UNUSABLE =
  "The program that sent you here asks in a way that this Server does not take. Start again in the program; if that does not help, remove this Server there, and add it again.";

/** Answers with the pages. */
export class PageAnswers {
  readonly #parts: PageParts;
  #headers: Promise<Record<string, string>> | undefined;

  constructor(parts: PageParts) {
    this.#parts = parts;
  }

  /**
   * Answers with the first step: who the person is.
   *
   * @param named the office that the person named before
   */
  async first(
    consent: Consent,
    named?: string,
    problem?: Problem,
  ): Promise<Response> {
    const { persons } = this.#parts;
    const page = keyPage({
      ...await this.#asking(consent, problem),
      office: consent.office,
      named,
      by: "host" in persons ? persons : persons.asksKey ? "key" : "button",
    });
    return await this.#answer(page, problem?.status);
  }

  /** Answers with the second step: what the program may use. */
  async second(
    consent: Consent,
    { office, computers }: KnownPerson,
    problem?: Problem,
  ): Promise<Response> {
    const seat = await this.#parts.host.agentOf(office);
    const asking = await this.#asking(consent, problem);
    const page = choicePage({ ...asking, office, computers, seat });
    return await this.#answer(page, problem?.status);
  }

  /** Leads back to the program. */
  async back(
    consent: Consent,
    parameters: Readonly<Record<string, string>>,
  ): Promise<Response> {
    const program = consent.client.name || "your program";
    const to = this.#urlOf(consent, parameters);
    return await this.leave(to, `Going back to ${program}.`, "Done");
  }

  /** Leads elsewhere. */
  async leave(to: string, text: string, title: string): Promise<Response> {
    return await this.#answer(leavePage(to, text, title));
  }

  /** Answers a request that cannot go on, and where something fails, such as the store. */
  async fail(error: unknown): Promise<Response> {
    if (error instanceof PageFault) {
      const { message: text, status } = error;
      return await this.#answer(faultPage({ text }), status);
    }
    if (error instanceof OAuthFault) return await this.refuse(error, undefined);
    log.error("A page of the sign-in failed: {reason}", reasonOf(error));
    return await this.#answer(faultPage({ text: LATER }), 503);
  }

  /**
   * Refuses a program's request. Before a person has agreed, only a program on this device gets the error:
   * all may register a website, and this Server would lead to it (RFC 9700 §4.11.2).
   *
   * @param asked where the answer goes; absent where that cannot be trusted
   */
  async refuse(
    { code, message }: OAuthFault,
    asked: Pick<Consent, "redirect" | "state"> | undefined,
  ): Promise<Response> {
    const isPassing = code === "temporarily_unavailable";
    const shown = { text: isPassing ? LATER : UNUSABLE, detail: message };
    if (asked === undefined) {
      return await this.#answer(faultPage(shown), isPassing ? 429 : 400);
    }
    const fault = { error: code, error_description: message };
    const to = this.#urlOf(asked, fault);
    if (placeOf(asked.redirect, this.#parts.redirects)?.kind !== "program") {
      return await this.#answer(faultPage({ ...shown, back: to }), 400);
    }
    const headers = { ...await this.#ownHeaders(), Location: to };
    return new Response(null, { status: 302, headers });
  }

  /** Makes the URL of an answer, which names the issuer (RFC 9207). */
  #urlOf(
    { redirect, state }: Pick<Consent, "redirect" | "state">,
    parameters: Readonly<Record<string, string>>,
  ): string {
    return withParameters(redirect, {
      ...parameters,
      ...(state !== undefined && { state }),
      iss: this.#parts.resources.issuer,
    });
  }

  async #asking(consent: Consent, problem?: Problem): Promise<Asking> {
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
      problem: problem?.text,
    };
  }

  async #answer(page: Html, status = 200): Promise<Response> {
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
