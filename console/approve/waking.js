// @ts-check
/// <reference lib="dom" />
/*
 * The service worker, and how Computers wake the device by it. The pair of keys by which a push service
 * knows the sender is the device's own: a page has one subscription, and each Computer gets it.
 */
/** @import { PushSubscription as Push } from "../../shared/approvals/question.ts" */
import { toBase64url } from "../../shared/approvals/bytes.ts";
import { keepPush, keptPush } from "./store.js";

/** The folder of the page's parts. */
const PARTS = new URL("./", import.meta.url);
const SCOPE = location.pathname;

/** Names the one script that may be a worker, where browsers ask for more than a text. */
const policy = Reflect.get(globalThis, "trustedTypes")
  ?.createPolicy("approve", {
    createScriptURL: () => new URL("sw.js", PARTS).href,
  });

/** Whether the device can be woken here. */
export const canWake = "serviceWorker" in navigator &&
  "PushManager" in globalThis && "Notification" in globalThis;

/** @type {Promise<ServiceWorkerRegistration> | undefined} */
let registered;

/** Registers the worker, which also has the page while there is no network. */
export function register() {
  registered ??= navigator.serviceWorker?.register(
    policy?.createScriptURL("") ?? new URL("sw.js", PARTS).href,
    { scope: SCOPE, updateViaCache: "none" },
  );
  // A page without it works, while there is a network.
  registered?.catch(() => {});
}

/** Returns how the device is woken, if it is. */
export async function waking() {
  if (!canWake || Notification.permission !== "granted") return undefined;
  const kept = await keptPush();
  const current = await (await registered)?.pushManager.getSubscription();
  return kept && current?.endpoint === kept.endpoint ? kept : undefined;
}

/**
 * Lets Computers wake the device.
 *
 * @returns {Promise<Push>}
 * @throws {Error} when the person or the browser does not allow it
 */
export async function allowWaking() {
  if (await Notification.requestPermission() !== "granted") {
    throw new Error("Notifications are not allowed for this page");
  }
  await registered; // without it none is ever ready
  const registration = await navigator.serviceWorker.ready;
  await (await registration.pushManager.getSubscription())?.unsubscribe();
  const pair = await crypto.subtle.generateKey(
    { name: "ECDSA", namedCurve: "P-256" },
    true,
    ["sign", "verify"],
  );
  const subscription = await registration.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: await crypto.subtle.exportKey("raw", pair.publicKey),
  });
  const key = (/** @type {PushEncryptionKeyName} */ name) =>
    toBase64url(new Uint8Array(subscription.getKey(name) ?? []));
  const push = {
    endpoint: subscription.endpoint,
    p256dh: key("p256dh"),
    auth: key("auth"),
    vapid: await crypto.subtle.exportKey("jwk", pair.privateKey),
  };
  await keepPush(push);
  return push;
}
