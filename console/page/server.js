// @ts-check
/// <reference lib="dom" />
/** @import { Api } from "./data/api.js" */
import { h } from "./ui/element.js";
import { run } from "./ui/shell.js";
import { createLive } from "./data/live.js";
import * as call from "./views/call.js";
import * as calls from "./views/calls.js";
import * as log from "./views/log.js";
import * as computer from "./views/computer.js";
import * as office from "./views/office.js";
import * as offices from "./views/offices.js";
import { chooseAndRevoke } from "./views/revoke.js";
import * as status from "./views/status.js";

run({
  name: "A2C-SMCP",
  base: "operator/v1/",
  tokenHelp:
    "The one that the Server printed at its start, or an API key or JWT with the role operator.",
  routes: [
    ["offices", offices],
    ["offices/:office", office],
    ["offices/:office/calls", calls],
    ["calls", calls],
    ["calls/:key", call],
    ["status", status],
    ["log", log],
    ["offices/:office/computers/:computer", computer],
  ],
  links: [
    ["#/offices", "Offices"],
    ["#/calls", "Calls"],
    ["#/status", "Status"],
    ["#/log", "Log"],
  ],
  live: createLive,
  account,
});

/**
 * @param {Api} api
 * @param {HTMLElement} account
 */
function account(api, account) {
  account.append(
    h(
      "button",
      { type: "button", onClick: () => void chooseAndRevoke(api) },
      "Revoke a key…",
    ),
  );
}
