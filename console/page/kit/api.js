// @ts-check
/// <reference lib="dom" />

/**
 * Requests of this page to the process that serves it.
 * @typedef {object} Api
 * @property {(path: string, signal?: AbortSignal) => Promise<any>} get throws {@link ProblemError}
 * @property {(path: string, body: unknown, signal?: AbortSignal) => Promise<any>} post throws {@link ProblemError}
 * @property {(path: string, headers: Record<string, string>, signal: AbortSignal) => Promise<Response>} open
 * begins to read a stream; throws {@link ProblemError}
 */

/** A request that was refused, or got no answer: then its status is 0. */
export class ProblemError extends Error {
  /**
   * @param {number} status
   * @param {string} detail
   * @param {string} [fix]
   */
  constructor(status, detail, fix) {
    super(fix === undefined || fix === "" ? detail : `${detail}: ${fix}`);
    this.name = "ProblemError";
    this.status = status;
  }
}

/**
 * Makes requests with a token, which is sent in a header alone.
 *
 * @param {object} options
 * @param {string} options.token
 * @param {string} options.base the path of the API, relative to the page
 * @param {(problem: ProblemError) => void} options.onRefused called when the token is refused
 * @returns {Api}
 */
export function createApi({ token, base, onRefused }) {
  /**
   * @param {string} path
   * @param {RequestInit} init
   */
  const send = async (path, init) => {
    const headers = { ...init.headers, Authorization: `Bearer ${token}` };
    /** @type {Response} */
    let response;
    try {
      response = await fetch(base + path, {
        ...init,
        headers,
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
      });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new ProblemError(
        0,
        "The Server does not answer",
        "check that it is running and can be reached from this machine",
      );
    }
    if (response.ok) return response;
    const { problem, field } = await readProblem(response);
    // Not that of a Computer, which may refuse a question as well.
    const isOfToken = response.status === 403 && field === "Authorization";
    if (response.status === 401 || isOfToken) onRefused(problem);
    throw problem;
  };
  return {
    get: async (path, signal) =>
      (await send(path, { signal: signal ?? null })).json(),
    post: async (path, body, signal) => {
      const response = await send(path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
        signal: signal ?? null,
      });
      return response.json();
    },
    open: (path, headers, signal) => send(path, { headers, signal }),
  };
}

/**
 * Returns the message of an error.
 *
 * @param {unknown} error
 */
export const errorMessage = (error) =>
  error instanceof Error ? error.message : String(error);

/** @param {Response} response */
async function readProblem(response) {
  /** @type {{ detail?: unknown, errors?: { field?: unknown, fix?: unknown }[] }} */
  const body = await response.json().catch(() => ({}));
  const { field, fix } = body.errors?.[0] ?? {};
  const problem = new ProblemError(
    response.status,
    typeof body.detail === "string"
      ? body.detail
      : `The Server answers ${response.status}`,
    typeof fix === "string" && !String(body.detail).includes(fix)
      ? fix
      : undefined,
  );
  return { problem, field };
}
