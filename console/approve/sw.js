// @ts-check
/*
 * The service worker: it has the page while there is no network, and shows that a call waits. It protects
 * from nothing: who serves the page can replace it.
 */

/**
 * The used part of the global scope, whose types a page does not have.
 * @type {{
 *   registration: {
 *     scope: string,
 *     showNotification(title: string, options: object): Promise<void>,
 *   },
 *   clients: {
 *     claim(): Promise<void>,
 *     matchAll(options: object): Promise<{ url: string, focus(): Promise<unknown> }[]>,
 *     openWindow(url: string): Promise<unknown>,
 *   },
 *   location: { href: string },
 *   caches: any,
 *   fetch: (request: any) => Promise<any>,
 *   skipWaiting(): Promise<void>,
 *   addEventListener(type: string, listener: (event: any) => void): void,
 * }}
 */
const worker = /** @type {any} */ (globalThis);

const CACHE = "approve";
const MAX_NAME = 40;
const page = worker.registration.scope;
const shell = [
  page,
  ...["approve.js", "approve.css", "icon.svg", "manifest.webmanifest"]
    .map((name) => new URL(name, worker.location.href).href),
];

worker.addEventListener("install", (event) => {
  const cached = worker.caches.open(CACHE)
    .then((/** @type {any} */ cache) => cache.addAll(shell));
  event.waitUntil(cached.then(() => worker.skipWaiting()));
});

worker.addEventListener(
  "activate",
  (event) => event.waitUntil(worker.clients.claim()),
);

worker.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  const [address = ""] = url.split(/[?#]/);
  if (method === "GET" && shell.includes(address)) {
    event.respondWith(load(event.request, address));
  }
});

/**
 * Loads a part of the page; without a network, as it was.
 *
 * @param {any} request
 * @param {string} address
 */
async function load(request, address) {
  const cache = await worker.caches.open(CACHE);
  try {
    const answer = await worker.fetch(request);
    if (answer.status === 200) await cache.put(address, answer.clone());
    return answer;
  } catch (error) {
    const kept = await cache.match(address);
    if (kept) return kept;
    throw error;
  }
}

worker.addEventListener("push", (event) => {
  let from = "";
  try {
    const { name } = event.data.json();
    from = `${String(name).slice(0, MAX_NAME)}: `;
  } catch { // unreadable: it wakes all the same
  }
  const shown = worker.registration.showNotification("Approvals", {
    body: `${from}a tool call waits for your answer`,
    tag: "approvals",
    renotify: true,
    requireInteraction: true,
  });
  event.waitUntil(shown);
});

worker.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open());
});

/** Shows the page: an open one, or a new one. */
async function open() {
  const all = await worker.clients.matchAll({ type: "window" });
  const known = all.find(({ url }) => url.split(/[?#]/)[0] === page);
  return await (known ? known.focus() : worker.clients.openWindow(page));
}
