// @ts-check
/// <reference lib="dom" />
/** @import { Column } from "../kit/list.js" */
/** @import { View } from "../kit/page.js" */
/** @import { ServerLive } from "./live.js" */
import { ProblemError } from "../kit/api.js";
import { button, buttonFor, fill, h, hashOf, link } from "../kit/element.js";
import { createList, rowOf, tableOf } from "../kit/list.js";
import {
  attempt,
  command,
  empty,
  loading,
  pathOf,
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

/** How an office is, and its members. @type {View<ServerLive>} */
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
      const revokeIt = () => revoke(api, principal).then(reload);
      return [
        buttonFor("Kick…", name, () => kick(member)),
        canRevoke(principal) && button("Revoke key…", revokeIt, {
          "aria-label": `Revoke ${principal}… ${name}`,
        }),
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
      noun: "members",
      which: "first",
      most: 200,
      body,
      placeholder: "name, address or principal",
      items: () => members,
      textOf: ({ name, address = "", principal = "" }) =>
        `${name}\n${address}\n${principal}`,
      keyOf: ({ id }) => id,
      make: (member) => {
        const buttons = h("td.actions", buttonsOf(member));
        return rowOf(nameOf(office, member), COLUMNS, member, buttons);
      },
    });
    const heads = ["Member", ...COLUMNS, h("td")];
    fill(content, tiles, list.bar(), tableOf({}, heads, body));
    let hadMembers = false;
    /** @param {readonly Member[]} found empty where nobody is, or where that is not to be seen */
    const take = (found) => {
      members = found.toSorted((a, b) =>
        ORDER.compare(a.role, b.role) || ORDER.compare(a.name, b.name)
      );
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
      const [title, hint] = hadMembers
        ? [
          `Nobody is in ${office} now`,
          "Its last member has left. One that joins is shown here, such as:",
        ]
        : [
          `Nobody is in ${office}, or you may not see it`,
          "A member that joins is shown here, such as:",
        ];
      const join = `--office ${quoted(office)} --url ${location.origin}`;
      const run = command(`smcp-computer run --config computer.json ${join}`);
      fill(nothing, empty(String(title), hint, run));
    };
    const head = officeHead(office, "members", state);
    fill(root, head, problems, nothing, content);
    const reload = loading({
      problems,
      signal,
      everyMs: RELOAD_MS,
      load: () =>
        api.get(`offices/${encodeURIComponent(office)}/members`, signal)
          .catch((error) => {
            // An office without members is no failure of the page.
            if (error instanceof ProblemError && error.status === 404) {
              return { members: [] };
            }
            throw error;
          }),
      show: (answer) => take(answer.members),
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
  pathOf(link(["offices"], "Offices")),
  h("h1", h("bdi", office), state && " ", state),
  h(
    "nav.tabs",
    { "aria-label": "Office" },
    [
      ["members", "Members", hashOf(["offices", office])],
      ["calls", "Calls", hashOf(["offices", office, "calls"])],
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
const nameOf = (office, { role, name }) =>
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
