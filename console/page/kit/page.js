// @ts-check
/// <reference lib="dom" />
/*
 * The frame of every page: it takes the token from its link, or asks for it, and shows the view that the
 * address names. The work of a view ends with it; the stream of events lasts as long as the token is
 * valid.
 */
/** @import { Api } from "./api.js" */
/** @import { Child } from "./element.js" */
/** @import { Live } from "./live.js" */
import { createApi } from "./api.js";
import { button, fill, h, shownText, viewHash } from "./element.js";
import { labelled, plainForm } from "./fields.js";

/**
 * The context of a view, whose work ends when `signal` aborts.
 * @template L
 * @typedef {object} Context
 * @property {Api} api
 * @property {L} live the state from the stream of events
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
 * A page: its name, its API, and its views by their routes.
 * @typedef {object} Page
 * @property {string} name
 * @property {string} base the path of its API, relative to the page
 * @property {string} tokenHelp where to find the token
 * @property {readonly [Route, ...Route[]]} routes the first is the start
 * @property {readonly string[]} links the routes of the navigation
 * @property {{ route: string, isOn: (api: Api, signal: AbortSignal) => Promise<boolean | undefined> }} [optional]
 * one of them that is shown only where the process has its part
 * @property {() => Live} live
 * @property {(api: Api) => Child} [account] an action of the whole page
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
 * @param {string} [problem] why the last token was refused
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
      plainForm(
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

/**
 * Shows a page to the holder of a token.
 *
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
  const nav = navigation(page);
  fill(
    document.body,
    button("Skip to content", () => main.focus(), { class: "skip" }),
    h(
      "header",
      h("a.brand", { href: startHash(page) }, h("span.mark"), page.name),
      nav,
      h(
        "div.account",
        streamState(live, session.signal),
        page.account?.(api),
        button("Sign out", leave),
      ),
    ),
    main,
    h("div", { id: "notices", role: "status", "aria-live": "polite" }),
  );
  showOptional(page, nav, { api, live, signal: session.signal });
  const views = new Views(page, { api, live, signal: session.signal });
  const show = () => {
    views.show(main);
    markCurrent(nav, views.isKnown ? location.hash : startHash(page));
  };
  addEventListener("hashchange", () => {
    show();
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, { signal: session.signal });
  show();
}

/** Returns the address of the first view. @param {Page} page */
const startHash = (page) => viewHash(page.links.slice(0, 1));

/** Makes the links to the views. @param {Page} page */
const navigation = (page) =>
  h(
    "nav",
    { "aria-label": "Views" },
    page.links.map((route) => {
      const text = `${route[0]?.toUpperCase()}${route.slice(1)}`;
      return h("a", { href: viewHash([route]) }, text);
    }),
  );

/**
 * Shows the optional link while the process has its part, which is asked whenever the stream opens.
 *
 * @param {Page} page
 * @param {HTMLElement} nav
 * @param {Omit<Context<Live>, "params">} context
 */
function showOptional({ optional }, nav, { api, live, signal }) {
  const link = [...nav.querySelectorAll("a")].find(({ hash }) =>
    optional && hash === viewHash([optional.route])
  );
  if (!optional || !link) return;
  link.hidden = true;
  /** @type {Live["state"] | undefined} */
  let state;
  live.subscribe(async () => {
    if (live.state === state) return;
    state = live.state;
    if (state !== "open") return;
    try {
      link.hidden = !await optional.isOn(api, signal);
    } catch {
      // Asked again with the next stream.
    }
  }, signal);
}

/**
 * Marks the link to the current view.
 *
 * @param {HTMLElement} nav
 * @param {string} hash of the view
 */
function markCurrent(nav, hash) {
  const here = hash.split("?")[0];
  for (const link of nav.querySelectorAll("a")) {
    const isHere = here === link.hash || here?.startsWith(`${link.hash}/`);
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** The states of the stream. */
const STREAM_TEXTS = {
  connecting: "Connecting…",
  open: "Connected",
  lost: "Connection lost",
};

/**
 * Shows the state of the stream.
 *
 * @param {Live} live
 * @param {AbortSignal} signal
 */
function streamState(live, signal) {
  const stream = h("span.stream", { role: "status" });
  live.subscribe(() => {
    const text = STREAM_TEXTS[live.state];
    if (stream.textContent !== text) stream.textContent = text;
    stream.className = `stream ${live.state}`;
  }, signal);
  return stream;
}

/** The views of a page, of which one is shown at a time. */
class Views {
  #page;
  #context;
  #shown = new AbortController();
  /** Whether the address names a view; otherwise the first is shown. */
  isKnown = false;

  /**
   * @param {Page} page
   * @param {Omit<Context<any>, "params">} context
   */
  constructor(page, context) {
    this.#page = page;
    this.#context = context;
  }

  /**
   * Shows the view that the address names, and ends the one before.
   *
   * @param {HTMLElement} main
   */
  show(main) {
    const { name, routes } = this.#page;
    this.#shown.abort();
    this.#shown = new AbortController();
    const { segments, query } = readHash(location.hash);
    const found = routes
      .map(([route, view]) => ({ view, params: match(route, segments) }))
      .find(({ params }) => params !== undefined);
    this.isKnown = found !== undefined;
    const view = found?.view ?? routes[0][1];
    const params = { ...query, ...found?.params };
    document.title = shownText(`${view.title(params)} · ${name}`);
    const root = h("div.view");
    fill(main, root);
    const { signal } = this.#context;
    view.show(root, {
      ...this.#context,
      params,
      signal: AbortSignal.any([this.#shown.signal, signal]),
    });
  }
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

/** The key under which the token is kept until the tab is closed. */
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
