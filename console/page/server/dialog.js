// @ts-check
/// <reference lib="dom" />
/** @import { Api } from "../kit/api.js" */
import { button, h } from "../kit/element.js";
import { labelled, plainForm } from "../kit/fields.js";
import { attempt } from "../kit/parts.js";

/**
 * A field of a dialog.
 * @typedef {object} Field
 * @property {string} name
 * @property {string} label
 * @property {string} [description]
 * @property {string} [value]
 * @property {"number"} [type] default text
 * @property {number} [maxLength]
 * @property {string} [min]
 * @property {string} [max]
 * @property {readonly { value: string, text: string }[]} [options] it is one of these, at first the first
 * @property {readonly [name: string, value: string]} [onlyFor] it is shown while another field has a value
 */

let dialogs = 0;

/**
 * Asks for the values of an action, in a dialog.
 *
 * @param {{ title: string, text?: string, action: string, fields: readonly Field[] }} about
 * @returns {Promise<Record<string, string> | undefined>} `undefined` when it was cancelled
 */
export function ask({ title, text, action, fields }) {
  const id = `dialog-${++dialogs}`;
  const inputs = fields.map((field) => {
    const input = fieldInput(field, `${id}-${field.name}`);
    return { field, input, element: labelled(field, input) };
  });
  const update = () => {
    for (const { field: { onlyFor }, input, element } of inputs) {
      if (onlyFor === undefined) continue;
      const [name, value] = onlyFor;
      const other = inputs.find(({ field }) => field.name === name);
      input.disabled = element.hidden = other?.input.value !== value;
    }
  };
  const form = plainForm(
    { onChange: update },
    () => dialog.close("done"),
    h("h2", { id }, title),
    text && h("p", text),
    inputs.map(({ element }) => element),
    h(
      "p.actions",
      h("button.danger", { type: "submit" }, action),
      button("Cancel", () => dialog.close("")),
    ),
  );
  /** @type {HTMLDialogElement} */
  const dialog = h("dialog", { "aria-labelledby": id }, form);
  update();
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(
        dialog.returnValue === "done"
          ? Object.fromEntries(
            inputs.map(({ field, input }) => [field.name, input.value.trim()]),
          )
          : undefined,
      );
    })
  );
}

/**
 * Asks for the reason of an action.
 *
 * @param {{ title: string, text?: string, action: string, kept?: string }} about `kept` is who reads the reason
 * @returns {Promise<string | undefined>} `undefined` when it was cancelled
 */
export async function askReason({ kept = REASON.description, ...about }) {
  const fields = [{ ...REASON, description: kept }];
  const answer = await ask({ ...about, fields });
  return answer?.["reason"];
}

/** The field for a reason. */
export const REASON = {
  name: "reason",
  label: "Reason",
  description: "Sent to the members concerned, and kept in the audit log.",
  maxLength: 200,
};

/**
 * @param {Field} field
 * @param {string} id
 */
const fieldInput = (field, id) =>
  field.options
    ? h(
      "select",
      { id },
      field.options.map(({ value, text }) => h("option", { value }, text)),
    )
    : h("input", {
      id,
      type: field.type ?? "text",
      value: field.value ?? "",
      required: true,
      autocomplete: "off",
      maxLength: field.maxLength,
      min: field.min,
      max: field.max,
    });

/** @typedef {{ principal?: string, name: string, office: string }} Member */

/** Of how many offices the members are read, to list the keys that are used. */
const MAX_OFFICES = 100;
/** The most names of members beside a key. */
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
  const options = await keysInUse(api);
  const answer = await ask({
    title: "Revoke a key",
    text: TEXT,
    action: "Revoke",
    fields: [
      {
        name: "key",
        label: "Key",
        options: [...options, { value: OTHER, text: "another one…" }],
      },
      {
        name: "principal",
        label: "Principal",
        description:
          "key: and the id of an API key, or jwt: and the sub of tokens",
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
const send = (api, principal, reason) =>
  attempt(
    api.post("keys/revoke", { principal, reason }),
    `${principal} is refused from now on.`,
  );

/**
 * Returns the keys in use, with their members; none where these cannot be read, since a key can be typed.
 *
 * @param {Api} api
 */
async function keysInUse(api) {
  const { offices } = await api.get("offices").catch(() => ({ offices: [] }));
  const names = new Set(
    offices.map((/** @type {{ office: string }} */ { office }) => office),
  );
  const lists = await Promise.allSettled(
    [...names].slice(0, MAX_OFFICES).map((office) =>
      api.get(`offices/${encodeURIComponent(office)}/members`)
    ),
  );
  /** @type {Member[]} */
  const members = lists.flatMap((list) =>
    list.status === "fulfilled" ? list.value.members : [] // it has become empty
  );
  const used = members.filter(({ principal }) => canRevoke(principal));
  return [...Map.groupBy(used, ({ principal = "" }) => principal)]
    .sort(([a], [b]) => a < b ? -1 : 1)
    .map(([value, holders]) => {
      const places = [...Map.groupBy(holders, ({ office }) => office)].map(
        ([office, members]) =>
          `${namesText(members.map(({ name }) => name).sort())} in ${office}`,
      );
      return { value, text: `${value} · ${places.join(", ")}` };
    });
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
