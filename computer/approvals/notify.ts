/**
 * Wakes a person by a POST to an address of their own, with one fixed sentence as plain text, as ntfy takes
 * it.
 *
 * @module
 */
import { withTimeout } from "../../shared/async.ts";
import { type WakeChannel, wakeSentence } from "./waker.ts";

/** How long a service may take. */
const POST_MS = 10_000;

/** How a person is notified. */
export interface NotifyOptions {
  /** Where the sentence goes; as `readNotifyUrl()` takes it. */
  readonly url: URL;
  /** The Computer's name. */
  readonly name: string;
  /** Returns the address of the page for answers, never a link for pairing; undefined without a page. */
  readonly page?: () => string | undefined;
  /** Default: that of this process. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Wakes by a POST. The address is as good as a password with many services, so that no error has it. */
export class NotifyChannel implements WakeChannel {
  readonly name = "--notify-url";
  readonly #options: NotifyOptions;

  constructor(options: NotifyOptions) {
    this.#options = options;
  }

  async wake(): Promise<void> {
    const { url, name, page, fetch = globalThis.fetch } = this.#options;
    const address = withoutFragment(page?.());
    const sentence = wakeSentence(name);
    const { href, authorization } = withoutCredentials(url);
    const status = await post(new URL(href), {
      headers: {
        "content-type": "text/plain; charset=utf-8",
        // What a tap opens, for ntfy.
        ...(address !== undefined && { click: address }),
        ...(authorization !== undefined && { authorization }),
      },
      body: address === undefined ? sentence : `${sentence}\n${address}`,
    }, fetch);
    if (status < 200 || status > 299) {
      throw new Error(`${url.host} answered ${status}`);
    }
  }
}

/** Returns the address of a page; its fragment might be a link. */
const withoutFragment = (page: string | undefined): string | undefined =>
  page?.split("#")[0];

/** Takes a name and password out of an address, which `fetch` refuses there. */
function withoutCredentials(
  url: URL,
): { href: string; authorization?: string } {
  const { username, password } = url;
  if (username === "" && password === "") return { href: url.href };
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  const pair = [username, password].map(decodeURIComponent).join(":");
  const bytes = new TextEncoder().encode(pair);
  return {
    href: bare.href,
    authorization: `Basic ${btoa(String.fromCharCode(...bytes))}`,
  };
}

/**
 * Posts to a service, follows no redirect, and leaves the answer unread.
 *
 * @returns the status
 * @throws {Error} without the path of the address, which may be a secret
 */
export const post = (
  url: URL,
  request: Pick<RequestInit, "headers" | "body">,
  fetch = globalThis.fetch,
): Promise<number> =>
  withTimeout(POST_MS, async (signal) => {
    const answer = await fetch(url, {
      ...request,
      method: "POST",
      redirect: "manual",
      signal,
    }).catch((error) => {
      signal.throwIfAborted();
      throw new Error(`no connection to ${url.host}`, { cause: error });
    });
    await answer.body?.cancel();
    return answer.status;
  });
