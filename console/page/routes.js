// @ts-check

/**
 * Reads the part of the address after `#`.
 *
 * @param {string} hash such as `#/offices/north?tool=echo`
 * @returns {{ segments: string[], query: Record<string, string> }}
 */
export function readHash(hash) {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return {
    segments: path.split("/").filter((segment) => segment !== "").map(decode),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/**
 * Writes the part of the address after `#`.
 *
 * @param {readonly string[]} segments
 * @param {Readonly<Record<string, string>>} [query]
 */
export const hashOf = (segments, query = {}) => {
  const text = new URLSearchParams(query).toString();
  return `#/${segments.map(encodeURIComponent).join("/")}${text && `?${text}`}`;
};

/**
 * Compares segments with a pattern such as `offices/:office`.
 *
 * @param {string} pattern
 * @param {readonly string[]} segments
 * @returns {Record<string, string> | undefined} the parameters, if they match
 */
export function match(pattern, segments) {
  const parts = pattern.split("/");
  if (parts.length !== segments.length) return undefined;
  /** @type {Record<string, string>} */
  const params = {};
  for (const [i, part] of parts.entries()) {
    const segment = segments[i] ?? "";
    if (part.startsWith(":")) params[part.slice(1)] = segment;
    else if (part !== segment) return undefined;
  }
  return params;
}

/** @param {string} segment */
const decode = (segment) => {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
};
