// @ts-check
/// <reference lib="dom" />
/** @import { Api } from "../kit/api.js" */
/** @import { Child } from "../kit/element.js" */
/** @import { Column } from "../kit/list.js" */
/** @import { View } from "../kit/page.js" */
/** @import { ServerLive } from "./live.js" */
import { ProblemError } from "../kit/api.js";
import { button, buttonFor, fill, h, link, viewHash } from "../kit/element.js";
import { createList, dataTable, tableRow } from "../kit/list.js";
import {
  attempt,
  breadcrumbs,
  command,
  empty,
  loading,
  pill,
  tile,
  tileList,
} from "../kit/parts.js";
import { agoText, bytesText, outcomeText, sinceText } from "../kit/text.js";
import { ask, canRevoke, REASON, revoke } from "./dialog.js";
import { eventSentence } from "./events.js";
import { officeState, ORDER, pulseTiles } from "./offices.js";
import { Pulse } from "./counts.js";

const RELOAD_MS = 2000;

/** The state of an office, and its members. @type {View<ServerLive>} */
export const office = {
  title: ({ office = "" }) => office,
  show: (root, { api, live, signal, params: { office = "" } }) => {
    const problems = h("div");
    const state = h("span");
    const tiles = tileList();
    const hint = new EmptyOffice(office);
    /** @type {readonly Member[]} */
    let all = [];
    const list = memberList(
      office,
      () => all,
      (member) => memberButtons(office, member, api, () => reload()),
    );
    const content = h("div", { hidden: true }, tiles, list.elements);
    fill(
      root,
      officeHead(office, "members", state),
      problems,
      hint.element,
      content,
    );
    /** @param {readonly Member[]} members empty for an office that may not be seen, too */
    const show = (members) => {
      const isEmpty = members.length === 0;
      content.hidden = isEmpty;
      fill(state, !isEmpty && pill(...officeState(countMembers(members))));
      if (!isEmpty) fill(tiles, memberTiles(members, live.pulseOf(office)));
      all = members.toSorted(byRole);
      list.draw();
      hint.show(isEmpty);
    };
    const path = `offices/${encodeURIComponent(office)}/members`;
    const reload = loading({
      problems,
      signal,
      everyMs: RELOAD_MS,
      load: () =>
        api.get(path, signal).catch((error) => {
          // An office without members is no failure of the page.
          if (error instanceof ProblemError && error.status === 404) {
            return { members: [] };
          }
          throw error;
        }),
      show: (answer) => show(answer.members),
    });
  },
};

/**
 * Makes the list of members.
 *
 * @param {string} office
 * @param {() => readonly Member[]} items
 * @param {(member: Member) => readonly Child[]} buttons
 */
function memberList(office, items, buttons) {
  const body = h("tbody");
  const { bar, draw } = createList({
    noun: "members",
    body,
    placeholder: "name, address or principal",
    items,
    searchText: ({ name, address = "", principal = "" }) =>
      `${name}\n${address}\n${principal}`,
    itemKey: ({ id }) => id,
    make: (member) => {
      const actions = h("td.actions", buttons(member));
      return tableRow(memberName(office, member), COLUMNS, member, actions);
    },
  });
  const heads = ["Member", ...COLUMNS, h("td")];
  return { elements: [bar(), dataTable({}, heads, body)], draw };
}

/** @param {Member} a @param {Member} b */
const byRole = (a, b) =>
  ORDER.compare(a.role, b.role) || ORDER.compare(a.name, b.name);

/** The hint of an office without members: how to join it. */
class EmptyOffice {
  element = h("div");
  #office;
  #hadMembers = false;

  /** @param {string} office */
  constructor(office) {
    this.#office = office;
  }

  /** @param {boolean} isEmpty */
  show(isEmpty) {
    if (!isEmpty) {
      this.#hadMembers = true;
      this.element.replaceChildren();
      return;
    }
    // A selection in it stays.
    if (this.element.children.length > 0) return;
    const title = this.#hadMembers
      ? `${this.#office} has no members now`
      : `${this.#office} has no members, or you may not see it`;
    const join = `--office ${quoted(this.#office)} --url ${location.origin}`;
    fill(
      this.element,
      empty(
        title,
        "New members appear here, such as:",
        command(`smcp-computer run --config computer.json ${join}`),
      ),
    );
  }
}

/**
 * Makes the buttons that kick a member, and revoke its key.
 *
 * @param {string} office
 * @param {Member} member
 * @param {Api} api
 * @param {() => Promise<void>} reload
 */
function memberButtons(office, member, api, reload) {
  const { name, principal = "" } = member;
  const revokeIt = () => revoke(api, principal).then(reload);
  return [
    buttonFor("Kick…", name, () => kick(office, member, api).then(reload)),
    canRevoke(principal) && button("Revoke key…", revokeIt, {
      "aria-label": `Revoke ${principal}… ${name}`,
    }),
  ];
}

/**
 * Kicks a member, after a question.
 *
 * @param {string} office
 * @param {Member} member
 * @param {Api} api
 */
async function kick(office, { id, name }, api) {
  const answer = await ask({
    title: `Kick ${name} out of ${office}`,
    action: "Kick",
    fields: [REASON, {
      name: "hold",
      label: "Seconds in which it cannot join again",
      type: "number",
      value: "60",
      min: "0",
      max: "86400",
    }],
  });
  if (!answer) return;
  const kicked = api.post(`members/${encodeURIComponent(id)}/kick`, {
    reason: answer["reason"],
    hold_ms: Math.round(Number(answer["hold"]) * 1000),
  });
  await attempt(kicked, `${name} was kicked.`);
}

/** @param {string} name as a word of a command */
const quoted = (name) =>
  /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;

/** @param {readonly Member[]} members */
const countMembers = (members) => {
  const agent = members.find(({ role }) => role === "agent");
  return {
    agent: agent?.name ?? null,
    computers: members.filter(({ role }) => role === "computer").length,
    pending_calls: agent?.pending_calls ?? 0,
  };
};

/**
 * @param {readonly Member[]} members
 * @param {Pulse} [pulse]
 */
function memberTiles(members, pulse = new Pulse()) {
  const now = Date.now();
  const { agent, computers, pending_calls: pending } = countMembers(members);
  const { last } = pulse;
  return [
    tile("Agent", agent ?? "none"),
    tile("Computers", computers),
    tile("Calls in flight", pending),
    ...pulseTiles(pulse.bars(now)),
    tile(
      "Last event",
      last ? agoText(last.at, now) : "–",
      last
        ? h("bdi", eventSentence(last.event, last.data).slice(0, 120))
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
 * Makes the head of the views of an office: the path, and the links between the views.
 *
 * @param {string} office
 * @param {"members" | "calls"} here
 * @param {HTMLElement} [state]
 * @returns {HTMLElement[]}
 */
export const officeHead = (office, here, state) => [
  breadcrumbs(link(["offices"], "Offices")),
  h("h1", h("bdi", office), state && " ", state),
  h(
    "nav.tabs",
    { "aria-label": "Office" },
    [
      ["members", "Members", viewHash(["offices", office])],
      ["calls", "Calls", viewHash(["offices", office, "calls"])],
    ].map(([name, text, href]) => {
      const current = name === here ? "page" : undefined;
      return h("a", { href, "aria-current": current }, text);
    }),
  ),
];

/**
 * @param {string} office
 * @param {Member} member
 */
const memberName = (office, { role, name }) =>
  role === "agent"
    ? h("bdi", name)
    : link(["offices", office, "computers", name], name);

/** @type {readonly Column<Member>[]} */
const COLUMNS = [
  [
    "Role",
    ({ role }) =>
      h(
        "span",
        { class: `shape ${role}` },
        role === "agent" ? "Agent" : "Computer",
      ),
    "",
  ],
  ["Version", ({ version }) => version],
  [
    "From",
    ({ address, principal }) =>
      [address, principal].filter(Boolean).join(" · "),
  ],
  [
    "Here for",
    ({ since }) => since && sinceText(since, Date.now()),
    "number short",
  ],
  [
    "Calls",
    ({ calls, pending_calls: pending }) => [
      calls,
      pending ? ` (${pending} in flight)` : "",
    ],
    "",
  ],
  ["Received", ({ bytes }) => bytes && bytesText(bytes.received), "number"],
  [
    "Sent",
    ({ bytes }) => [
      bytes && bytesText(bytes.sent),
      bytes?.queued ? ` (${bytesText(bytes.queued)} waiting)` : "",
    ],
    "number",
  ],
  [
    "Last error",
    ({ last_error: error }) =>
      error && h(
        "bdi",
        `${outcomeText(error)}${error.message ? `: ${error.message}` : ""}`,
      ),
    "long",
  ],
];
