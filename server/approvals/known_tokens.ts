/** The most tokens that are known at a time; then the one that was not used for longest is forgotten. */
const MOST = 10_000;

/**
 * The hashes of tokens that devices have here, or had. Wrong tokens are counted by address, and many people
 * are behind one address: whoever has had a right token is not held up by what others send from there, and
 * not counted with them while its Computer is out, but has tries of its own.
 */
export class KnownTokens {
  readonly #known = new Set<string>();

  /** Notes a right one. */
  add(verifier: string): void {
    this.#known.delete(verifier);
    this.#known.add(verifier);
    const [oldest] = this.#known.size > MOST ? this.#known : [];
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  /** Returns by what a request's wrong tokens are counted. */
  whoSends(verifier: string | undefined, address: string): string {
    return verifier !== undefined && this.#known.has(verifier)
      ? verifier
      : address;
  }
}
