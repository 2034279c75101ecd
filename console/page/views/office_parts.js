// @ts-check
/// <reference lib="dom" />
import { h } from "../ui/element.js";
import { bytesText, outcomeText, sinceText } from "../ui/text.js";
import { hashOf } from "../routes.js";

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
