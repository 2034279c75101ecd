import { ErrorCode } from "../protocol/mod.ts";
import { type Refusal, refusal } from "./gate.ts";

/** Web origins whose pages may connect. */
export type Origins = "*" | readonly string[];

/**
 * Decides whether a request may come from where it says (spec §10).
 *
 * CORS does not guard WebSockets: a page of any origin can open one, and only this check stops it.
 * The `Host` header does not count: behind a rebound name a foreign page looks like one of the server.
 *
 * @param origin the `Origin` header; who sends none is no browser, and may pass
 */
export function checkOrigin(
  origin: string | undefined,
  origins: Origins,
): Refusal | undefined {
  if (origin === undefined || origins === "*" || origins.includes(origin)) {
    return undefined;
  }
  return refusal(403, {
    code: ErrorCode.FORBIDDEN,
    message: "Origin not allowed",
  });
}
