import { reasonOf as wholeReasonOf } from "../../client/errors.ts";
import { redactUrl } from "./redact_text.ts";

/** Tells whether a value is a JSON object. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the message of anything thrown; secrets in URLs are redacted, since `fetch` quotes URLs. */
export const reasonOf = (error: unknown): string =>
  wholeReasonOf(error).replaceAll(/https?:\/\/[^\s"'()<>]+/gi, redactUrl);

/** Sets a property, even one named `__proto__`. */
export const define = (object: object, name: string, value: unknown): void => {
  Object.defineProperty(object, name, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
};
