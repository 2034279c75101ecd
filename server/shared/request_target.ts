/** Splits a request target into path and query, in origin form (`/p?q`) or absolute form (`http://h/p?q`). */
export function splitTarget(target: string): { path: string; query: string } {
  const origin = target.replace(/^https?:\/\/[^/?#]*/i, "").split("#", 1)[0] ??
    "";
  const mark = origin.indexOf("?");
  return mark === -1
    ? { path: origin, query: "" }
    : { path: origin.slice(0, mark), query: origin.slice(mark + 1) };
}

/** Returns whether a request opens a session rather than belonging to one. */
export const opensSession = (query: string): boolean => !sessionOf(query);

/** Returns the session that a request belongs to; of several `sid` Engine.IO takes the last. */
export const sessionOf = (query: string): string | undefined =>
  parametersOf(query).getAll("sid").at(-1);

/** Parses a query like Engine.IO, which makes a URL of the request: tabs and line ends are dropped. */
export const parametersOf = (query: string): URLSearchParams =>
  new URL(`?${query}`, "http://server").searchParams;
