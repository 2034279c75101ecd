// @ts-check
/// <reference lib="dom" />

const NAME = "smcp-token";

/**
 * Takes the token out of a link such as `…#token=…`, and out of the address bar and the history; else
 * the one of before in this tab.
 *
 * @returns {string | undefined}
 */
export function takeToken() {
  const [, given] = /^#token=([^&]+)/.exec(location.hash) ?? [];
  if (given === undefined) return sessionStorage.getItem(NAME) ?? undefined;
  history.replaceState(null, "", location.pathname + location.search);
  keepToken(decodeURIComponent(given));
  return decodeURIComponent(given);
}

/**
 * Keeps the token until the tab is closed.
 *
 * @param {string} token
 */
export const keepToken = (token) => sessionStorage.setItem(NAME, token);

/** Forgets the token. */
export const dropToken = () => sessionStorage.removeItem(NAME);
