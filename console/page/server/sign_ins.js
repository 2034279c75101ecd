// @ts-check
/// <reference lib="dom" />
/** @import { Api } from "../kit/api.js" */
/** @import { ComputerChoice } from "../../../shared/computer_choice.ts" */
/** @import { Column } from "../kit/list.js" */
/** @import { View } from "../kit/page.js" */
/** @import { ServerLive } from "./live.js" */
import { choiceText } from "../../../shared/computer_choice.ts";
import { relativeTime } from "../../../shared/time/relative_time.ts";
import { ProblemError } from "../kit/api.js";
import { buttonFor, fill, h, link } from "../kit/element.js";
import { createList, dataTable, tableRow } from "../kit/list.js";
import { attempt, command, empty, loading, pill } from "../kit/parts.js";
import { askReason } from "./dialog.js";

/** How often the list is read while nothing begins or ends: the times of use change. */
const RELOAD_MS = 5000;

/**
 * What a person has allowed a program, as the API describes it.
 * @typedef {object} Grant
 * @property {string} id
 * @property {string} principal
 * @property {string} office
 * @property {string} program
 * @property {string} [vouched_by]
 * @property {ComputerChoice} computers
 * @property {string} since
 * @property {string} used
 * @property {string} expires
 */

/** The programs that signed in. @type {View<ServerLive>} */
export const signIns = {
  title: () => "Sign-ins",
  show: (root, { api, live, signal }) => {
    const problems = h("div");
    const state = h("div");
    /** @type {readonly Grant[]} */
    let all = [];
    const list = grantList(
      () => all,
      (grant) => end(grant, api).then(() => reload()),
    );
    const content = h("div", { hidden: true }, list.elements);
    fill(root, h("h1", "Sign-ins"), problems, state, content);
    /** @type {string | undefined} */
    let shown;
    /** A selection in it stays. @param {string} name @param {() => HTMLElement} make */
    const showState = (name, make) => {
      if (name !== shown) fill(state, make());
      shown = name;
    };
    const reload = loading({
      problems,
      signal,
      everyMs: RELOAD_MS,
      load: () =>
        api.get("grants", signal).catch((error) => {
          // Where sign-in is off, this view is no failure.
          if (error instanceof ProblemError && error.status === 404) return {};
          throw error;
        }),
      show: ({ grants, url = defaultUrl() }) => {
        all = grants ?? [];
        content.hidden = all.length === 0;
        if (grants === undefined) showState("off", isOff);
        else if (all.length === 0) showState(`none ${url}`, () => none(url));
        else showState("some", about);
        list.draw();
      },
    });
    let changes = live.signInChanges;
    live.subscribe(() => {
      if (live.signInChanges === changes) return;
      changes = live.signInChanges;
      void reload();
    }, signal);
  },
};

/** The URL of the gateway beside this page. */
const defaultUrl = () => new URL("mcp", location.href).href;

const isOff = () =>
  empty(
    "Sign-in is off",
    "With it, programs such as claude.ai, ChatGPT and Claude Code use an office with nothing but a URL and a person's yes. Start the Server with:",
    command(
      "smcp-server --sign-in --api-keys keys.json --public-url https://smcp.example.com",
    ),
  );

/** @param {string} url */
const none = (url) =>
  empty(
    "No sign-ins",
    "No program has signed in. One needs nothing but the URL of this Server, as a custom connector in claude.ai or ChatGPT:",
    command(url),
    "Or in Claude Code:",
    command(
      `claude mcp add --transport http office ${url}\nclaude mcp login office`,
    ),
    "It opens a page of this Server, where a person types a key and chooses the Computers.",
  );

const about = () =>
  h(
    "p.muted",
    "Programs that persons have let in. Each calls the tools of its Computers in the name of the key, until it is ended here or expires.",
  );

/**
 * Makes the list of grants.
 *
 * @param {() => readonly Grant[]} items
 * @param {(grant: Grant) => unknown} end
 */
function grantList(items, end) {
  const body = h("tbody");
  const { bar, draw } = createList({
    noun: "sign-ins",
    body,
    placeholder: "program, office or key",
    items,
    searchText: ({ program, vouched_by = "", office, principal }) =>
      `${program}\n${vouched_by}\n${office}\n${principal}`,
    itemKey: ({ id }) => id,
    make: (grant) => {
      const target = `${nameOf(grant)} in ${grant.office}`;
      return tableRow(
        grant.program === ""
          ? h("span.muted", NAMELESS)
          : h("bdi", grant.program),
        COLUMNS,
        grant,
        h("td.actions", buttonFor("End…", target, () => end(grant))),
      );
    },
  });
  const heads = ["Program", ...COLUMNS, h("td")];
  const props = { class: "cards sign-ins", "aria-label": "Sign-ins" };
  return { elements: [bar(), dataTable(props, heads, body)], draw };
}

/** What stands for a name where a program has none. */
const NAMELESS = "no name";

/** @param {Grant} grant */
const nameOf = ({ program }) =>
  program === "" ? "a program without a name" : program;

/**
 * Ends a grant, after a question.
 *
 * @param {Grant} grant
 * @param {Api} api
 */
async function end(grant, api) {
  const { id, office } = grant;
  const reason = await askReason({
    title: `End the sign-in of ${nameOf(grant)} in ${office}`,
    text:
      "Its calls in flight end, and it has to sign in again. Its key stays valid.",
    action: "End",
    kept: "Kept in the audit log.",
  });
  if (reason === undefined) return;
  const ended = api.post("grants/end", { id, reason });
  await attempt(ended, `The sign-in of ${nameOf(grant)} was ended.`);
}

/**
 * Shows a time in words; the time itself where one points.
 *
 * @param {string} time in ISO 8601
 */
const timeOf = (time) =>
  h(
    "time",
    { dateTime: time, title: new Date(time).toLocaleString() },
    relativeTime(time, Date.now()),
  );

/** @type {readonly Column<Grant>[]} */
const COLUMNS = [
  [
    "Vouched by",
    ({ vouched_by: host }) =>
      host === undefined ? pill("warn", "no one") : h("bdi", host),
    "",
  ],
  ["Office", ({ office }) => link(["offices", office], office), ""],
  ["Key", ({ principal }) => principal],
  ["Computers", ({ computers }) => h("bdi", choiceText(computers)), "long"],
  ["Since", ({ since }) => timeOf(since), ""],
  ["Last used", ({ used }) => timeOf(used), ""],
  ["Expires", ({ expires }) => timeOf(expires), ""],
];
