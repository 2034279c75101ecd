/** Tells whether a resource is a window, by its scheme alone; it may still be an invalid one. */
export const isWindow = (uri: unknown): uri is string =>
  typeof uri === "string" && /^window:/i.test(uri);

/** Tells whether a resource is a document, by its scheme alone; it may still be an invalid one. */
export const isDocument = (uri: unknown): uri is string =>
  typeof uri === "string" && /^dpe:/i.test(uri);

/** The part of a `window://` or `dpe://` URI that tells which resource it is: no query, no fragment (spec §8). */
export const identityOf = (uri: string): string => uri.replace(/[?#][^]*$/, "");
