// @ts-check
/// <reference lib="dom" />
/** @import { Context } from "../kit/page.js" */
import { ProblemError } from "../kit/api.js";
import { fill, h, keyed } from "../kit/element.js";
import { hashOf } from "../kit/page.js";
import {
  command,
  empty,
  loading,
  notify,
  pill,
  sparkline,
  tile,
  tileList,
  totalOf,
} from "../kit/parts.js";
import { agoText, bytesText, outcomeText, sinceText } from "../kit/text.js";
import { Pulse, PULSE_MINUTES } from "./counts.js";
import { sentenceOf } from "./log.js";
import { stateOf } from "./offices.js";
import { ask, canRevoke, REASON, revoke } from "./dialog.js";

const RELOAD_MS = 2000;
/** The most rows that are shown; a filter finds the others. */
const MAX_ROWS = 200;
/** Compares many names quickly. */
const ORDER = new Intl.Collator();

/** @param {Readonly<Record<string, string>>} params */
export const title = ({ office = "" }) => office;

/**
 * Shows an office: how it is, and its members.
 *
 * @param {HTMLElement} root
 * @param {Context} context
 */
export function show(root, { api, live, signal, params: { office = "" } }) {
  const problems = h("div");
  const state = h("span");
  const tiles = tileList();
  const body = h("tbody");
  const count = h("p", { class: "muted", role: "status" });
  const filter = h("input", {
    type: "search",
    id: "filter",
    placeholder: "name, address or principal",
    onInput: () => draw(),
  });
  const content = h(
    "div",
    { hidden: true },
    tiles,
    h(
      "p",
      { class: "field inline" },
      h("label", { for: "filter" }, "Filter"),
      filter,
      count,
    ),
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
  const nothing = h("div");
  /** @type {readonly Member[]} */
  let members = [];
  const draw = () => {
    const wanted = filter.value.toLowerCase();
    const found = members.filter(({ name, address = "", principal = "" }) =>
      `${name}\n${address}\n${principal}`.toLowerCase().includes(wanted)
    );
    count.textContent = found.length > MAX_ROWS
      ? `${found.length} members, of which the first ${MAX_ROWS} are shown`
      : `${found.length} of ${members.length} members`;
    fill(state, pill(...stateOf(countsOf(members))));
    fill(tiles, tilesOf(members, live.pulseOf(office)));
    keyed(
      body,
      found.slice(0, MAX_ROWS),
      {
        keyOf: ({ id }) => id,
        make: (member) =>
          h(
            "tr",
            {},
            cellsOf(office, member),
            h("td", { class: "actions" }, buttonsOf(member)),
          ),
      },
    );
  };
  let hadMembers = false;
  /** @param {readonly Member[]} list empty where nobody is, or where that is not to be seen */
  const take = (list) => {
    members = list;
    content.hidden = list.length === 0;
    if (list.length > 0) {
      hadMembers = true;
      nothing.replaceChildren();
      draw();
      return;
    }
    body.replaceChildren();
    state.replaceChildren();
    if (nothing.children.length > 0) return; // what was selected in it stays
    fill(
      nothing,
      empty(
        hadMembers
          ? `Nobody is in ${office} now`
          : `Nobody is in ${office}, or you may not see it`,
        hadMembers
          ? "Its last member has left. One that joins is shown here, such as:"
          : "A member that joins is shown here, such as:",
        command(
          `smcp-computer run --config computer.json --office ${
            quoted(office)
          } --url ${location.origin}`,
        ),
      ),
    );
  };
  /** @param {Member} member */
  const buttonsOf = (member) => {
    const { name, principal = "" } = member;
    return [
      h("button", {
        type: "button",
        "aria-label": `Kick… ${name}`,
        onClick: () => void kick(member),
      }, "Kick…"),
      canRevoke(principal) &&
      h("button", {
        type: "button",
        "aria-label": `Revoke ${principal}… ${name}`,
        onClick: () => void revoke(api, principal).then(reload),
      }, "Revoke key…"),
    ];
  };
  /** @param {Member} member */
  const kick = async ({ id, name }) => {
    const answer = await ask({
      title: `Kick ${name} out of ${office}`,
      action: "Kick",
      danger: true,
      fields: [REASON, {
        name: "hold",
        label: "Seconds in which it cannot join again",
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
  fill(root, officeHead(office, "members", state), problems, nothing, content);
  const reload = loading({
    problems,
    signal,
    everyMs: RELOAD_MS,
    load: async () => {
      try {
        return await api.get(
          `offices/${encodeURIComponent(office)}/members`,
          signal,
        );
      } catch (error) {
        // An office without members is no failure of the page.
        if (!(error instanceof ProblemError) || error.status !== 404) {
          throw error;
        }
        return { members: [] };
      }
    },
    show: (answer) =>
      take(
        answer.members.toSorted((
          /** @type {Member} */ a,
          /** @type {Member} */ b,
        ) => ORDER.compare(a.role, b.role) || ORDER.compare(a.name, b.name)),
      ),
  });
}

/** @param {string} name as a word of a command */
const quoted = (name) =>
  /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;

/** @param {readonly Member[]} members */
const countsOf = (members) => {
  const agent = members.find(({ role }) => role === "agent");
  return {
    agent: agent?.name ?? null,
    computers: members.filter(({ role }) => role === "computer").length,
    pending_calls: agent?.pending_calls ?? 0,
  };
};

/**
 * @param {readonly Member[]} members
 * @param {Pulse | undefined} pulse
 */
function tilesOf(members, pulse) {
  const now = Date.now();
  const { agent, computers, pending_calls: pending } = countsOf(members);
  const bars = (pulse ?? new Pulse()).bars(now);
  const { calls, failed } = totalOf(bars);
  const last = pulse?.last;
  return [
    tile("Agent", agent ?? "none"),
    tile("Computers", computers),
    tile("Calls in flight", pending),
    tile(`Calls in ${PULSE_MINUTES} min`, calls, sparkline(bars)),
    tile(
      `Failures in ${PULSE_MINUTES} min`,
      h("span", { class: failed > 0 ? "bad" : "" }, failed),
    ),
    tile(
      "Last event",
      last ? agoText(last.at, now) : "–",
      last
        ? h("bdi", {}, sentenceOf(last.event, last.data).slice(0, 120))
        : "none yet",
    ),
  ];
}

/**
 * A member as the API describes it.
 * @typedef {object} Member
 * @property {string} id
 * @property {"agent" | "computer"} role
 * @property {string} name
 * @property {string} version
 * @property {string} [principal]
 * @property {string} [address]
 * @property {string} [since]
 * @property {number} [calls]
 * @property {number} [pending_calls]
 * @property {{ received: number, sent: number, queued: number }} [bytes]
 * @property {{ at: string, outcome: string, ended_by?: string, message?: string }} [last_error]
 */

/**
 * Makes the head of the views of an office: where one is, and the links between the views.
 *
 * @param {string} office
 * @param {"members" | "calls"} here
 * @param {HTMLElement} [state]
 * @returns {HTMLElement[]}
 */
export const officeHead = (office, here, state) => [
  h("p", { class: "path" }, h("a", { href: "#/offices" }, "Offices"), " ›"),
  h("h1", {}, h("bdi", {}, office), state && " ", state),
  h(
    "nav",
    { class: "tabs", "aria-label": "Office" },
    [
      ["members", "Members", hashOf(["offices", office])],
      ["calls", "Calls", hashOf(["offices", office, "calls"])],
    ].map(([name, text, href]) =>
      h(
        "a",
        { href, "aria-current": name === here ? "page" : undefined },
        text,
      )
    ),
  ),
];

/** The heads of the columns of {@link cellsOf}. */
export const HEADS = [
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
 * Makes the cells of a member.
 *
 * @param {string} office
 * @param {Member} member
 */
export const cellsOf = (office, member) => {
  const {
    role,
    name,
    version,
    principal,
    address,
    since,
    calls,
    pending_calls: pending,
    bytes,
    last_error: error,
  } = member;
  const from = [address, principal].filter(Boolean)
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
    h(
      "td",
      { "data-label": "Role" },
      h(
        "span",
        { class: `shape ${role}` },
        role === "agent" ? "Agent" : "Computer",
      ),
    ),
    h("td", { "data-label": "Version" }, version),
    h("td", { "data-label": "From" }, h("bdi", {}, from)),
    h(
      "td",
      { "data-label": "Here for", class: "number short" },
      since && sinceText(since, Date.now()),
    ),
    h(
      "td",
      { "data-label": "Calls" },
      calls,
      pending ? ` (${pending} in flight)` : "",
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
          `${outcomeText(error)}${error.message ? `: ${error.message}` : ""}`,
        ),
    ),
  ];
};
