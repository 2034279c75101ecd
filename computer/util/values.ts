import { reasonOf as wholeReasonOf } from "../../client/reason.ts";
import { redactUrl } from "./redact_text.ts";

/** Tells whether a value is a JSON object. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What an error says, whatever was thrown; secrets in URLs are redacted, since `fetch` quotes them. */
export const reasonOf = (error: unknown): string =>
  wholeReasonOf(error).replaceAll(/https?:\/\/[^\s"'()<>]+/gi, redactUrl);
