import { chromium, type Page } from "playwright-core";
import { findChromium } from "./chromium.ts";

/** A size of the window, in CSS pixels. */
export type Size = { readonly width: number; readonly height: number };

/** A screen of a desk. */
export const DESK: Size = { width: 1280, height: 800 };

/** A telephone held upright. */
export const PHONE: Size = { width: 360, height: 740 };

/** What a test needs a page for. */
export interface TabOptions {
  /** Default {@linkcode DESK}. */
  readonly size?: Size;
  /** Default light. */
  readonly scheme?: "light" | "dark";
  /**
   * Complaints in the page's console that are no problems; default those of refused requests, which
   * the sender shows.
   */
  readonly expected?: RegExp;
}

/** A page with a profile of its own. */
export interface Tab extends AsyncDisposable {
  /** The page. */
  readonly page: Page;
  /** The requests that it sent, with the headers that went over the wire. */
  readonly requests: readonly Request[];
}

/** A request of a page. */
export interface Request {
  /** Empty for what the browser asks by itself, such as an icon. */
  readonly url: string;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

const program = await findChromium();
/** One for all tests of a file, started before them: so it is no leak of the first. */
const browser = program === undefined ? undefined : await chromium.launch({
  executablePath: program,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});

Deno.test.afterAll(() => browser?.close());

/** Defines a test with a browser; it is skipped where there is none. */
export function consoleTest(
  name: string,
  fn: () => Promise<void>,
  timeout = 180_000,
): void {
  const ignore = program === undefined;
  Deno.test({ name, timeout, ignore, fn: () => fn().catch(rethrow) });
}

/** Shows all that went wrong: of an error in a disposal after another one Deno shows neither. */
function rethrow(error: unknown): never {
  const errors: unknown[] = [];
  let rest = error;
  for (; rest instanceof SuppressedError; rest = rest.suppressed) {
    errors.unshift(rest.error);
  }
  throw errors.length === 0 ? error : new AggregateError([rest, ...errors]);
}

/** How long Playwright waits for one thing; what does not come then has its name in the error. */
const PLAYWRIGHT_MS = 30_000;
/** The same for what Playwright does not wait for: several of its waits may be part of it. */
const MOST_MS = 90_000;

/**
 * Waits for what Playwright does not wait for: a wait that the test's own limit ends has no name.
 *
 * @param what names it, such as `the subscription`
 */
export function inTime<T>(what: string, coming: Promise<T>): Promise<T> {
  // Unlike a timer it is no leak of a test that fails before.
  const limit = AbortSignal.timeout(MOST_MS);
  return new Promise((resolve, reject) => {
    coming.then(resolve, reject);
    const error = new Error(`${what} did not come in ${MOST_MS / 1000} s`);
    limit.addEventListener("abort", () => reject(error));
  });
}

/**
 * Opens a page; all of a file share one browser.
 *
 * At its end it throws what went wrong in the page unseen: exceptions, and what the policy of its
 * content has forbidden.
 */
export async function openTab(
  { size = DESK, scheme = "light", expected = /^Failed to load/ }: TabOptions =
    {},
): Promise<Tab> {
  if (browser === undefined) throw new Error("There is no Chromium");
  const context = await browser.newContext({
    viewport: size,
    colorScheme: scheme,
    // What is between two states, such as a colour, is on the screen in some runs alone.
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PLAYWRIGHT_MS);
  const problems: string[] = [];
  const wire: { id: string; headers: Record<string, string> }[] = [];
  page.on("pageerror", (error) => problems.push(String(error.stack ?? error)));
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !expected.test(text)) problems.push(text);
  });
  const session = await context.newCDPSession(page);
  const urls = new Map<string, string>();
  session.on("Network.requestWillBeSent", ({ requestId, request }) => {
    urls.set(requestId, request.url);
  });
  // Of a request it may come first.
  session.on("Network.requestWillBeSentExtraInfo", (sent) => {
    const headers = Object.entries(sent.headers).map(([name, value]) => [
      name.toLowerCase(),
      value,
    ]);
    wire.push({ id: sent.requestId, headers: Object.fromEntries(headers) });
  });
  await session.send("Network.enable");
  return {
    page,
    get requests() {
      return wire.map(({ id, headers }) => ({
        url: urls.get(id) ?? "",
        headers,
      }));
    },
    async [Symbol.asyncDispose]() {
      await context.close();
      if (problems.length > 0) {
        throw new Error(`In the page:\n${problems.join("\n")}`);
      }
    },
  };
}
