/**
 * The URL of a server with a sign-in. The command needs its rule before anything else is loaded.
 *
 * @module
 */
import { isLoopback, isLoopbackName } from "../../shared/loopback.ts";
import type { HostRule } from "../http/host_rule.ts";
import type { ListenAddress } from "../http/listen.ts";

/** Returns whether tokens of an issuer cannot be read in transit. */
export function isSafeIssuer(url: string): boolean {
  const { protocol, hostname } = URL.parse(url) ?? {};
  return protocol === "https:" || isLoopbackName(hostname ?? "");
}

/**
 * The URL by which clients reach a server with a sign-in, which is its issuer. It is never taken from a
 * request: whoever could choose it could lead clients elsewhere.
 */
export class Issuer {
  #url: string | undefined;
  /** Whether it is that of the address that the server listens on. */
  readonly #isLocal: boolean;

  constructor({ publicUrl }: Pick<HostRule, "publicUrl">) {
    this.#url = publicUrl;
    this.#isLocal = publicUrl === undefined;
  }

  /** Absent until the server listens. */
  get url(): string | undefined {
    return this.#url;
  }

  /**
   * Checks where a server is about to serve.
   *
   * @param hostname absent where the server does not listen itself
   * @throws {TypeError} where clients would reach it at a URL that is not known
   */
  check(hostname: string | undefined): void {
    if (!this.#isLocal || isLoopback(hostname ?? "")) return;
    const where = hostname === undefined
      ? "serve behind another server"
      : `listen on ${hostname}`;
    throw new TypeError(
      `Cannot ${where} with signIn and without publicUrl: set it to the https:// URL by which clients reach the server, or listen on loopback alone`,
    );
  }

  /** Notes where the server listens; the first address is that of clients. */
  listens({ url }: Pick<ListenAddress, "url">): void {
    this.#url ??= url;
  }
}
