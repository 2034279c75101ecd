import { hideSecrets } from "../util/hide_secrets.ts";

/** Tells whether a resource is a window, by its scheme alone; it may still be an invalid one. */
export const isWindow = (uri: unknown): uri is string =>
  typeof uri === "string" && /^window:/i.test(uri);

/** Tells whether a resource is a document, by its scheme alone; it may still be an invalid one. */
export const isDocument = (uri: unknown): uri is string =>
  typeof uri === "string" && /^dpe:/i.test(uri);

/** Makes a listed URI fit for a log, whatever an MCP server put there: quoted, short. */
export const quoteUri = (uri: unknown): string => {
  const text = hideSecrets(JSON.stringify(uri) ?? "undefined");
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
};

/** The part of a `window://` or `dpe://` URI that tells which resource it is: no query, no fragment (spec §8). */
export const identityOf = (uri: string): string => uri.replace(/[?#][^]*$/, "");
