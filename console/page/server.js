// @ts-check
/// <reference lib="dom" />
/** @import { Api } from "./kit/api.js" */
import { h } from "./kit/element.js";
import { run } from "./kit/page.js";
import { createLive } from "./server/live.js";
import * as call from "./server/call.js";
import * as calls from "./server/calls.js";
import * as log from "./server/log.js";
import * as computer from "./server/computer.js";
import * as office from "./server/office.js";
import * as offices from "./server/offices.js";
import { chooseAndRevoke } from "./server/dialog.js";
import * as status from "./server/status.js";

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
