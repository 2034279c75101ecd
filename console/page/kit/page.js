// @ts-check
/// <reference lib="dom" />
/*
 * What every page is: it takes the token from its link, or asks for it, and shows the view that the
 * address names. What a view starts ends with it; the stream of events lasts as long as the token
 * counts.
 */
/** @import { Api } from "./api.js" */
/** @import { Child } from "./element.js" */
/** @import { Live } from "./live.js" */
import { createApi } from "./api.js";
import { button, fill, h, hashOf, textOf } from "./element.js";
import { formOf, labelled } from "./fields.js";

/**
 * What a view works with. What it starts ends when `signal` aborts.
 * @template L
 * @typedef {object} Context
 * @property {Api} api
 * @property {L} live what the stream of events says
 * @property {Readonly<Record<string, string>>} params of the route, and of its query
 * @property {AbortSignal} signal
 */

/**
 * A view of a page.
 * @template L
 * @typedef {object} View
 * @property {(params: Readonly<Record<string, string>>) => string} title
 * @property {(root: HTMLElement, context: Context<L>) => unknown} show
 */

/** @typedef {readonly [route: string, view: View<any>]} Route */

/**
 * A page: what it is called, whom it asks, and its views by their routes.
 * @typedef {object} Page
 * @property {string} name
 * @property {string} base where its API is, relative to the page
 * @property {string} tokenHelp what to give as token
 * @property {readonly [Route, ...Route[]]} routes the first is the start
 * @property {readonly string[]} links the routes of the navigation
 * @property {() => Live} live
 * @property {(api: Api) => Child} [account] what belongs to the whole page
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
  });
  fill(
    document.body,
    h(
      "main.sign-in",
      h("h1.brand", h("span.mark"), page.name),
      formOf(
        {},
        () => {
          const token = input.value.trim();
          sessionStorage.setItem(TOKEN, token);
          open(page, token);
        },
        problem && h("p.problem", { role: "alert" }, problem),
        labelled({ label: "Token", description: page.tokenHelp }, input),
        h("p.actions", h("button.primary", { type: "submit" }, "Sign in")),
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
    sessionStorage.removeItem(TOKEN);
    signIn(page, problem);
  };
  const api = createApi({
    token,
    base: page.base,
    onRefused: ({ message }) => leave(message),
  });
  const live = page.live();
  void live.follow(api, session.signal);
  const main = h("main", { id: "main", tabIndex: -1 });
  const start = hashOf(page.links.slice(0, 1));
  const nav = h(
    "nav",
    { "aria-label": "Views" },
    page.links.map((route) => {
      const text = `${route[0]?.toUpperCase()}${route.slice(1)}`;
      return h("a", { href: hashOf([route]) }, text);
    }),
  );
  const stream = h("span.stream", { role: "status" });
  live.subscribe(() => {
    const text = STREAM_TEXTS[live.state];
    if (stream.textContent !== text) stream.textContent = text;
    stream.className = `stream ${live.state}`;
  }, session.signal);
  fill(
    document.body,
    button("Skip to content", () => main.focus(), { class: "skip" }),
    h(
      "header",
      h("a.brand", { href: start }, h("span.mark"), page.name),
      nav,
      h(
        "div.account",
        stream,
        page.account?.(api),
        button("Sign out", leave),
      ),
    ),
    main,
    h("div", { id: "notices", role: "status", "aria-live": "polite" }),
  );
  let shown = new AbortController();
  const show = () => {
    shown.abort();
    shown = new AbortController();
    const { segments, query } = readHash(location.hash);
    const found = page.routes
      .map(([route, view]) => ({ view, params: match(route, segments) }))
      .find(({ params }) => params !== undefined);
    const { view, params = {} } = found ?? { view: page.routes[0][1] };
    const all = { ...query, ...params };
    document.title = textOf(`${view.title(all)} · ${page.name}`);
    const here = found ? location.hash.split("?")[0] : start;
    for (const link of nav.querySelectorAll("a")) {
      const isHere = here === link.hash || here?.startsWith(`${link.hash}/`);
      if (isHere) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const root = h("div.view");
    fill(main, root);
    view.show(root, {
      api,
      live,
      params: all,
      signal: AbortSignal.any([shown.signal, session.signal]),
    });
  };
  addEventListener("hashchange", () => {
    show();
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, { signal: session.signal });
  show();
}

/**
 * Reads the part of the address after `#`, such as `#/offices/north?tool=echo`.
 *
 * @param {string} hash
 * @returns {{ segments: string[], query: Record<string, string> }}
 */
function readHash(hash) {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return {
    segments: path.split("/").filter((segment) => segment !== "").map(decode),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/**
 * Compares segments with a pattern such as `offices/:office`.
 *
 * @param {string} pattern
 * @param {readonly string[]} segments
 * @returns {Record<string, string> | undefined} the parameters, if they match
 */
function match(pattern, segments) {
  const parts = pattern.split("/");
  const isMatch = parts.length === segments.length &&
    parts.every((part, i) => part.startsWith(":") || part === segments[i]);
  return !isMatch ? undefined : Object.fromEntries(
    parts.flatMap((part, i) =>
      part.startsWith(":") ? [[part.slice(1), segments[i]]] : []
    ),
  );
}

/** @param {string} segment */
function decode(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Where the token is kept until the tab is closed. */
const TOKEN = "smcp-token";

/**
 * Takes the token out of a link such as `…#token=…`, and out of the address bar and the history; else
 * the one of before in this tab.
 */
function takeToken() {
  const [, given] = /^#token=([^&]+)/.exec(location.hash) ?? [];
  if (given === undefined) return sessionStorage.getItem(TOKEN) ?? undefined;
  history.replaceState(null, "", location.pathname + location.search);
  const token = decodeURIComponent(given);
  sessionStorage.setItem(TOKEN, token);
  return token;
}
