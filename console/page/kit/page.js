// @ts-check
/// <reference lib="dom" />
/** @import { Api, ProblemError } from "./api.js" */
import { createApi } from "./api.js";
import { fill, h } from "./element.js";

/**
 * What a view works with. What it starts ends when `signal` aborts.
 * @typedef {object} Context
 * @property {Api} api
 * @property {any} live what the stream of events says
 * @property {Readonly<Record<string, string>>} params of the route, and of its query
 * @property {AbortSignal} signal
 */

/**
 * A view, in a file of its own.
 * @typedef {object} View
 * @property {(params: Readonly<Record<string, string>>) => string} title
 * @property {(root: HTMLElement, context: Context) => unknown} show
 */

/**
 * A page: what it is called, whom it asks, and its views by their routes.
 * @typedef {object} Page
 * @property {string} name
 * @property {string} base where its API is, relative to the page
 * @property {string} tokenHelp what to give as token
 * @property {readonly (readonly [route: string, view: View])[]} routes the first is the start
 * @property {readonly (readonly [hash: string, text: string])[]} links of the navigation
 * @property {(api: Api, signal: AbortSignal) => any} live
 * @property {(api: Api, account: HTMLElement) => unknown} [account] adds what belongs to the whole page
 */

/**
 * Runs a page: signs in, then shows the view that the address names.
 *
 * @param {Page} page
 */
export function run(page) {
  // A link that is opened in a tab which shows the page already.
  addEventListener("hashchange", () => {
    if (location.hash.startsWith("#token=")) location.reload();
  });
  const token = takeToken();
  if (token === undefined) signIn(page);
  else open(page, token);
}

/**
 * @param {Page} page
 * @param {string} [problem] why the last token did not count
 */
function signIn(page, problem) {
  document.title = `Sign in · ${page.name}`;
  const input = h("input", {
    id: "token",
    type: "password",
    required: true,
    autocomplete: "off",
    spellcheck: false,
    "aria-describedby": "token-help",
  });
  fill(
    document.body,
    h(
      "main",
      { class: "sign-in" },
      h("h1", { class: "brand" }, h("span", { class: "mark" }), page.name),
      h(
        "form",
        {
          onSubmit: (/** @type {Event} */ event) => {
            event.preventDefault();
            keepToken(input.value.trim());
            open(page, input.value.trim());
          },
        },
        problem && h("p", { class: "problem", role: "alert" }, problem),
        h(
          "p",
          { class: "field" },
          h("label", { for: "token" }, "Token"),
          input,
          h("small", { id: "token-help" }, page.tokenHelp),
        ),
        h(
          "p",
          { class: "actions" },
          h("button", { type: "submit", class: "primary" }, "Sign in"),
        ),
      ),
    ),
  );
  input.focus();
}

/** What the header says of the stream. */
const STREAM_TEXTS = {
  connecting: "Connecting…",
  open: "Connected",
  lost: "Connection lost",
};

/**
 * @param {Page} page
 * @param {string} token
 */
function open(page, token) {
  const session = new AbortController();
  /** @param {string} [problem] */
  const leave = (problem) => {
    if (session.signal.aborted) return;
    session.abort();
    dropToken();
    signIn(page, problem);
  };
  const api = createApi({
    token,
    base: page.base,
    onRefused: ({ message }) => leave(message),
  });
  const live = page.live(api, session.signal);
  const main = h("main", { id: "main", tabIndex: -1 });
  const nav = h(
    "nav",
    { "aria-label": "Views" },
    page.links.map(([href, text]) => h("a", { href }, text)),
  );
  const stream = h("span", { class: "stream", role: "status" });
  const account = h("div", { class: "account" }, stream);
  live.subscribe(() => {
    const text =
      STREAM_TEXTS[/** @type {keyof typeof STREAM_TEXTS} */ (live.state)];
    if (stream.textContent !== text) stream.textContent = text;
    stream.className = `stream ${live.state}`;
  }, session.signal);
  page.account?.(api, account);
  account.append(
    h("button", { type: "button", onClick: () => leave() }, "Sign out"),
  );
  fill(
    document.body,
    h(
      "button",
      { type: "button", class: "skip", onClick: () => main.focus() },
      "Skip to content",
    ),
    h(
      "header",
      {},
      h(
        "a",
        { href: page.links[0]?.[0] ?? "#/", class: "brand" },
        h("span", { class: "mark" }),
        page.name,
      ),
      nav,
      account,
    ),
    main,
    h("div", { id: "notices", role: "status", "aria-live": "polite" }),
  );
  /** @type {AbortController | undefined} */
  let shown;
  const show = () => {
    shown?.abort();
    const controller = shown = new AbortController();
    const { segments, query } = readHash(location.hash);
    const found = page.routes.map(([route, view]) => ({
      view,
      params: match(route, segments),
    }))
      .find(({ params }) => params !== undefined);
    const { view, params = {} } = found ?? { view: page.routes[0]?.[1] };
    if (!view) return;
    const all = { ...query, ...params };
    document.title = `${view.title(all)} · ${page.name}`;
    const here = found ? location.hash.split("?")[0] : page.links[0]?.[0];
    for (const link of nav.querySelectorAll("a")) {
      const isHere = here === link.hash || here?.startsWith(`${link.hash}/`);
      if (isHere) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const root = h("div", { class: "view" });
    fill(main, root);
    view.show(root, {
      api,
      live,
      params: all,
      signal: AbortSignal.any([controller.signal, session.signal]),
    });
  };
  addEventListener("hashchange", () => {
    show();
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, { signal: session.signal });
  session.signal.addEventListener("abort", () => shown?.abort());
  show();
}

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
