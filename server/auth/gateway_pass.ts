import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Identity } from "../shared/identity.ts";

/** The HTTP header that carries the pass. */
const PASS_HEADER = "x-smcp-gateway";

/**
 * What the Agents of a gateway show instead of credentials: a secret of this process, made at its
 * start, which no other client can have.
 */
export class GatewayPass {
  /** Who they are; one object, so that their sessions are known by it. */
  readonly identity: Identity = {
    principal: "gateway",
    policy: { roles: ["agent"] },
  };
  readonly #secret = randomBytes(32).toString("base64url");

  /** The headers of their requests. */
  get headers(): Record<string, string> {
    return { [PASS_HEADER]: this.#secret };
  }

  /** Tells whether a request is one of theirs. */
  matches(headers: IncomingHttpHeaders): boolean {
    const sent = headers[PASS_HEADER];
    if (typeof sent !== "string") return false;
    const [shown, secret] = [sent, this.#secret].map((text) =>
      new TextEncoder().encode(text)
    ) as [Uint8Array, Uint8Array];
    return shown.length === secret.length && timingSafeEqual(shown, secret);
  }
}
