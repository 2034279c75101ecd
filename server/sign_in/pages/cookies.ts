/**
 * The cookies of pages: a page is of use only in the browser that it was made for.
 *
 * @module
 */
import type { Context } from "hono";
import type { SmcpEnv } from "../../http/http_app.ts";
import { PageFault } from "../oauth.ts";
import { type Consent, sha256 } from "../seals.ts";

/** What the cookies of pages have in common. */
interface CookieRules {
  readonly maxAgeMs: number;
  /** `Lax` where a page of another site leads back. */
  readonly sameSite: "Lax" | "Strict";
}

/** The cookies of pages. Each page has one of its own, so that two at once do not disturb each other. */
export class PageCookies {
  /** Has the issuer, once it is known. */
  readonly #server: { readonly issuer: string };
  readonly #rules: CookieRules;

  constructor(server: { readonly issuer: string }, rules: CookieRules) {
    this.#server = server;
    this.#rules = rules;
  }

  /** Makes the header that sets the cookie of a page. */
  make(page: Pick<Consent, "browser">, value: string): string {
    const { maxAgeMs, sameSite } = this.#rules;
    const { pathname } = new URL(`${this.#server.issuer}/authorize`);
    const attributes = [
      `${this.#nameOf(page)}=${value}`,
      this.#isSecure ? "Path=/; Secure" : `Path=${pathname}`,
      `HttpOnly; SameSite=${sameSite}; Max-Age=${maxAgeMs / 1000}`,
    ];
    return attributes.join("; ");
  }

  /**
   * Returns the cookie of a page that a request has.
   *
   * @throws {PageFault} for a page of another browser
   */
  async find(
    page: Pick<Consent, "browser">,
    c: Context<SmcpEnv>,
  ): Promise<string> {
    const name = `${this.#nameOf(page)}=`;
    const cookie = (c.req.header("cookie") ?? "").split(/;\s*/)
      .find((each) => each.startsWith(name))?.slice(name.length);
    const isIts = cookie !== undefined && await sha256(cookie) === page.browser;
    if (isIts) return cookie;
    throw new PageFault(
      403,
      "This page belongs to another browser. Start again in your program.",
    );
  }

  #nameOf({ browser }: Pick<Consent, "browser">): string {
    const prefix = this.#isSecure ? "__Host-" : "";
    return `${prefix}smcp-consent-${browser.slice(0, 8)}`;
  }

  get #isSecure(): boolean {
    return this.#server.issuer.startsWith("https:");
  }
}
