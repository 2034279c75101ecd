import { hideSecrets } from "../util/hide_secrets.ts";

/** Checks whether a URI has the `window:` scheme; it may still be invalid. */
export const isWindow = (uri: unknown): uri is string =>
  typeof uri === "string" && /^window:/i.test(uri);

/** Checks whether a URI has the `dpe:` scheme; it may still be invalid. */
export const isDocument = (uri: unknown): uri is string =>
  typeof uri === "string" && /^dpe:/i.test(uri);

/** Quotes and shortens a listed URI of any content for the log. */
export const quoteUri = (uri: unknown): string => {
  const text = hideSecrets(JSON.stringify(uri) ?? "undefined");
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
};

/** Returns the identifying part of a `window://` or `dpe://` URI: without query and fragment (spec §8). */
export const identityOf = (uri: string): string => uri.replace(/[?#][^]*$/, "");
