// @ts-check
/// <reference lib="dom" />
/** @import { Column } from "../kit/list.js" */
/** @import { View } from "../kit/page.js" */
import { ProblemError } from "../kit/api.js";
import { fill, h } from "../kit/element.js";
import { cellsOf, createList, tableOf } from "../kit/list.js";
import { hashOf } from "../kit/page.js";
import {
  attempt,
  command,
  empty,
  loading,
  pill,
  tile,
  tileList,
} from "../kit/parts.js";
import { agoText, bytesText, outcomeText, sinceText } from "../kit/text.js";
import { ask, canRevoke, REASON, revoke } from "./dialog.js";
import { sentenceOf } from "./events.js";
import { ORDER, pulseTiles, stateOf } from "./offices.js";
import { Pulse } from "./counts.js";

const RELOAD_MS = 2000;

/** How an office is, and its members. @type {View} */
export const office = {
  title: ({ office = "" }) => office,
  show: (root, { api, live, signal, params: { office = "" } }) => {
    const problems = h("div");
    const state = h("span");
    const tiles = tileList();
    const body = h("tbody");
    const content = h("div", { hidden: true });
    const nothing = h("div");
    /** @type {readonly Member[]} */
    let members = [];
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
      await reload();
    };
    const list = createList({
      ...{ noun: "members", which: "first", most: 200, body },
      placeholder: "name, address or principal",
      items: () => members,
      textOf: ({ name, address = "", principal = "" }) =>
        `${name}\n${address}\n${principal}`,
      keyOf: ({ id }) => id,
      make: (member) =>
        h(
          "tr",
          h("th", { scope: "row" }, nameOf(office, member)),
          cellsOf(COLUMNS, member),
          h("td.actions", buttonsOf(member)),
        ),
    });
    const heads = ["Member", ...COLUMNS.map(([head]) => head), h("td")];
    fill(content, tiles, list.bar(), tableOf({}, heads, body));
    let hadMembers = false;
    /** @param {readonly Member[]} found empty where nobody is, or where that is not to be seen */
    const take = (found) => {
      members = found;
      content.hidden = found.length === 0;
      if (found.length > 0) {
        hadMembers = true;
        nothing.replaceChildren();
        fill(state, pill(...stateOf(countsOf(members))));
        fill(tiles, tilesOf(members, live.pulseOf(office)));
        list.draw();
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
    fill(
      root,
      officeHead(office, "members", state),
      problems,
      nothing,
      content,
    );
    const reload = loading({
      problems,
      signal,
      everyMs: RELOAD_MS,
      load: async () => {
        const path = `offices/${encodeURIComponent(office)}/members`;
        try {
          return await api.get(path, signal);
        } catch (error) {
          // An office without members is no failure of the page.
          if (error instanceof ProblemError && error.status === 404) {
            return { members: [] };
          }
          throw error;
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
  },
};

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
 * @param {Pulse} [pulse]
 */
function tilesOf(members, pulse = new Pulse()) {
  const now = Date.now();
  const { agent, computers, pending_calls: pending } = countsOf(members);
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
        ? h("bdi", sentenceOf(last.event, last.data).slice(0, 120))
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
  h("p.path", h("a", { href: "#/offices" }, "Offices"), " ›"),
  h("h1", h("bdi", office), state && " ", state),
  h(
    "nav.tabs",
    { "aria-label": "Office" },
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

/**
 * @param {string} office
 * @param {Member} member
 */
const nameOf = (office, { role, name }) =>
  role === "agent" ? h("bdi", name) : h(
    "a",
    { href: hashOf(["offices", office, "computers", name]) },
    h("bdi", name),
  );

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
