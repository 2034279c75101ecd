// @ts-check
/// <reference lib="dom" />
/** @import { Api } from "../data/api.js" */
import { ask, REASON } from "../ui/dialog.js";
import { notify } from "../ui/notice.js";

/** Of how many offices the members are read, to list the keys that are used. */
const MAX_OFFICES = 100;
/** How many names say who uses a key. */
const MAX_NAMES = 3;
/** The choice of a key that is not listed. */
const OTHER = "other";

const TEXT =
  "Its holder is disconnected, and refused until the Server reads its keys again.";

/**
 * Revokes the key of a member, after a question.
 *
 * @param {Api} api
 * @param {string} principal
 */
export async function revoke(api, principal) {
  const answer = await ask({
    title: `Revoke ${principal}`,
    text: TEXT,
    action: "Revoke",
    danger: true,
    fields: [REASON],
  });
  if (answer) await send(api, principal, answer["reason"]);
}

/**
 * Revokes a key that is chosen from those that members use, or typed.
 *
 * @param {Api} api
 */
export async function chooseAndRevoke(api) {
  const used = await keysInUse(api);
  const options = [...used].sort().map(([principal, names]) => ({
    value: principal,
    text: `${principal} · ${names}`,
  }));
  const answer = await ask({
    title: "Revoke a key",
    text: TEXT,
    action: "Revoke",
    danger: true,
    fields: [
      {
        name: "key",
        label: "Key",
        options: [...options, { value: OTHER, text: "another one…" }],
      },
      {
        name: "principal",
        label: "Principal",
        hint: "key: and the id of an API key, or jwt: and the sub of tokens",
        onlyFor: ["key", OTHER],
      },
      REASON,
    ],
  });
  if (!answer) return;
  const { key = "", principal = "", reason } = answer;
  await send(api, key === OTHER ? principal : key, reason);
}

/**
 * @param {Api} api
 * @param {string} principal
 * @param {string | undefined} reason
 */
async function send(api, principal, reason) {
  try {
    await api.post("keys/revoke", { principal, reason });
    notify(`${principal} is refused from now on.`);
  } catch (error) {
    notify(error instanceof Error ? error.message : String(error), "error");
  }
}

/**
 * Returns who uses which key, as text; nothing where that cannot be read, since a key can be typed.
 *
 * @param {Api} api
 * @returns {Promise<Map<string, string>>}
 */
async function keysInUse(api) {
  /** @type {Map<string, Map<string, string[]>>} */
  const keys = new Map();
  const { offices } = await api.get("offices").catch(() => ({ offices: [] }));
  const names = new Set(
    offices.map((/** @type {{ office: string }} */ { office }) => office),
  );
  const lists = await Promise.allSettled(
    [...names].slice(0, MAX_OFFICES).map((office) =>
      api.get(`offices/${encodeURIComponent(office)}/members`)
    ),
  );
  for (const list of lists) {
    if (list.status === "rejected") continue; // it has become empty
    for (const { principal, name, office } of list.value.members) {
      if (!canRevoke(principal)) continue;
      const places = keys.get(principal) ?? new Map();
      keys.set(principal, places);
      places.set(office, [...places.get(office) ?? [], name]);
    }
  }
  return new Map(
    [...keys].map(([principal, places]) => [
      principal,
      [...places].map(([office, names]) =>
        `${namesText(names.toSorted())} in ${office}`
      ).join(", "),
    ]),
  );
}

/** @param {readonly string[]} names */
const namesText = (names) =>
  names.length > MAX_NAMES
    ? `${names.slice(0, MAX_NAMES).join(", ")} and ${
      names.length - MAX_NAMES
    } more`
    : names.join(", ");

/**
 * Returns whether a principal can be revoked: API keys, and holders of tokens.
 *
 * @param {string | undefined} principal
 */
export const canRevoke = (principal) => /^(key|jwt):/.test(principal ?? "");
