// @ts-check
/// <reference lib="dom" />
/** @import { Context } from "../ui/shell.js" */
import { ask, REASON } from "../ui/dialog.js";
import { fill, h } from "../ui/element.js";
import { keyed } from "../ui/keyed.js";
import { loading } from "../ui/loading.js";
import { notify } from "../ui/notice.js";
import { bytesText, sinceText } from "../ui/text.js";
import { hashOf } from "../routes.js";

const RELOAD_MS = 2000;
/** The most rows that are shown; a filter finds the others. */
const MAX_ROWS = 200;
/** Compares many names quickly. */
const ORDER = new Intl.Collator();

/**
 * A member as the API describes it.
 * @typedef {object} Member
 * @property {string} id
 * @property {string} protocol
 * @property {"agent" | "computer"} role
 * @property {string} name
 * @property {string} version
 * @property {string} [node]
 * @property {string} [principal]
 * @property {string} [address]
 * @property {string} [since]
 * @property {number} [calls]
 * @property {number} [pending_calls]
 * @property {{ received: number, sent: number, queued: number }} [bytes]
 * @property {{ at: string, outcome: string, message?: string }} [last_error]
 */

/** @param {Readonly<Record<string, string>>} params */
export const title = ({ office = "" }) => office;

/**
 * @param {HTMLElement} root
 * @param {Context} context
 */
export function show(root, { api, signal, params: { office = "" } }) {
  const problems = h("div");
  const body = h("tbody");
  const count = h("p", { class: "muted", role: "status" });
  const filter = h("input", {
    type: "search",
    id: "filter",
    placeholder: "name, address or principal",
    onInput: () => draw(),
  });
  /** @type {Member[]} */
  let members = [];
  const draw = () => {
    const wanted = filter.value.toLowerCase();
    const found = members.filter(({ name, address = "", principal = "" }) =>
      `${name}\n${address}\n${principal}`.toLowerCase().includes(wanted)
    );
    count.textContent = found.length > MAX_ROWS
      ? `${found.length} members, of which the first ${MAX_ROWS} are shown`
      : `${found.length} of ${members.length} members`;
    keyed(
      body,
      found.slice(0, MAX_ROWS),
      ({ id }) => id,
      (member) =>
        h(
          "tr",
          { class: member.role },
          cells(member),
          h("td", { class: "actions" }, kickButton(member)),
        ),
    );
  };
  /** @param {Member} member */
  const kickButton = (member) =>
    h(
      "button",
      {
        type: "button",
        "aria-label": `Kick… ${member.name}`,
        onClick: () => kick(member),
      },
      "Kick…",
    );
  /** @param {Member} member */
  const kick = async ({ id, name }) => {
    const answer = await ask({
      title: `Kick ${name} out of ${office}`,
      action: "Kick",
      danger: true,
      fields: [REASON, {
        name: "hold",
        label: "Seconds in which it cannot come back",
        type: "number",
        value: "60",
        min: 0,
        max: 86_400,
      }],
    });
    if (!answer) return;
    try {
      await api.post(`members/${encodeURIComponent(id)}/kick`, {
        reason: answer["reason"],
        hold_ms: Math.round(Number(answer["hold"]) * 1000),
      });
      notify(`${name} was kicked.`);
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), "error");
    }
    await reload();
  };
  fill(
    root,
    h("p", { class: "path" }, h("a", { href: "#/offices" }, "Offices"), " › "),
    h("h1", {}, h("bdi", {}, office)),
    h(
      "p",
      { class: "links" },
      h("a", { href: hashOf(["offices", office, "calls"]) }, "Calls"),
    ),
    problems,
    h(
      "p",
      { class: "field inline" },
      h("label", { for: "filter" }, "Filter"),
      filter,
    ),
    count,
    h(
      "table",
      { class: "cards" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          HEADS.map((text) => h("th", { scope: "col" }, text)),
          h("td"),
        ),
      ),
      body,
    ),
  );
  /** @param {Member} member */
  const cells = (member) => cellsOf(office, member);
  const reload = loading({
    problems,
    signal,
    everyMs: RELOAD_MS,
    load: () =>
      api.get(`offices/${encodeURIComponent(office)}/members`, signal),
    show: (answer) => {
      members = answer.members.toSorted((
        /** @type {Member} */ a,
        /** @type {Member} */ b,
      ) => ORDER.compare(a.role, b.role) || ORDER.compare(a.name, b.name));
      draw();
    },
  });
}

const HEADS = [
  "Member",
  "Role",
  "Version",
  "From",
  "Here for",
  "Calls",
  "Received",
  "Sent",
  "Last error",
];

/**
 * @param {string} office
 * @param {Member} member
 */
const cellsOf = (office, member) => {
  const {
    role,
    name,
    version,
    node,
    principal,
    address,
    since,
    calls,
    pending_calls: pending,
    bytes,
    last_error: error,
  } = member;
  const from = [address, principal, node && `node ${node}`].filter(Boolean)
    .join(" · ");
  return [
    h(
      "th",
      { scope: "row" },
      role === "computer"
        ? h(
          "a",
          { href: hashOf(["offices", office, "computers", name]) },
          h("bdi", {}, name),
        )
        : h("bdi", {}, name),
    ),
    h("td", { "data-label": "Role" }, role === "agent" ? "Agent" : "Computer"),
    h("td", { "data-label": "Version" }, version),
    h("td", { "data-label": "From" }, h("bdi", {}, from)),
    h(
      "td",
      { "data-label": "Here for", class: "number" },
      since && sinceText(since, Date.now()),
    ),
    h(
      "td",
      { "data-label": "Calls", class: "number" },
      calls,
      pending ? ` (${pending} on their way)` : "",
    ),
    h(
      "td",
      { "data-label": "Received", class: "number" },
      bytes && bytesText(bytes.received),
    ),
    h(
      "td",
      { "data-label": "Sent", class: "number" },
      bytes && bytesText(bytes.sent),
      bytes?.queued ? ` (${bytesText(bytes.queued)} waiting)` : "",
    ),
    h(
      "td",
      { "data-label": "Last error", class: "long" },
      error &&
        h(
          "bdi",
          {},
          `${error.outcome}${error.message ? `: ${error.message}` : ""}`,
        ),
    ),
  ];
};
