// @ts-check
/// <reference lib="dom" />
/*
 * What the device keeps: pairings with keys that no script can export, and how it is woken.
 */
/** @import { Pairing } from "../../shared/approvals/device.ts" */
/** @import { PushSubscription } from "../../shared/approvals/question.ts" */
import { toBase64url } from "../../shared/approvals/bytes.ts";

const PAIRINGS = "pairings";
const SETTINGS = "settings";
const PUSH = "push";

/** @type {Promise<IDBDatabase> | undefined} */
let opened;

/** @returns {Promise<IDBDatabase>} */
const database = () =>
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open("approve", 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(PAIRINGS);
      request.result.createObjectStore(SETTINGS);
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/**
 * @template T
 * @param {string} name
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} work
 * @returns {Promise<T>}
 */
async function inStore(name, mode, work) {
  const transaction = (await database()).transaction(name, mode);
  const request = work(transaction.objectStore(name));
  return await new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(request.result);
    transaction.onabort = () => reject(transaction.error);
  });
}

/**
 * Returns the key of a Computer.
 *
 * @param {Pairing} pairing
 */
export const keyOf = ({ computer }) => toBase64url(computer.id);

/** @returns {Promise<Pairing[]>} all pairings */
export const pairings = () =>
  inStore(PAIRINGS, "readonly", (store) => store.getAll());

/**
 * Keeps a pairing, in place of an earlier one with the same Computer.
 *
 * @param {Pairing} pairing
 */
export const keep = (pairing) =>
  inStore(
    PAIRINGS,
    "readwrite",
    (store) => store.put(pairing, keyOf(pairing)),
  );

/**
 * Forgets a Computer, with the keys for it.
 *
 * @param {Pairing} pairing
 */
export const forget = (pairing) =>
  inStore(PAIRINGS, "readwrite", (store) => store.delete(keyOf(pairing)));

/** @returns {Promise<PushSubscription | undefined>} how the device is woken */
export const keptPush = () =>
  inStore(SETTINGS, "readonly", (store) => store.get(PUSH));

/**
 * Keeps how the device is woken.
 *
 * @param {PushSubscription} push
 */
export const keepPush = (push) =>
  inStore(SETTINGS, "readwrite", (store) => store.put(push, PUSH));
