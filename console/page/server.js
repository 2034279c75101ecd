// @ts-check
/// <reference lib="dom" />
import { button } from "./kit/element.js";
import { run } from "./kit/page.js";
import { call, calls } from "./server/calls.js";
import { computer } from "./server/computer.js";
import { chooseAndRevoke } from "./server/dialog.js";
import { ServerLive } from "./server/live.js";
import { log } from "./server/log.js";
import { office } from "./server/office.js";
import { offices } from "./server/offices.js";
import { signIns } from "./server/sign_ins.js";
import { status } from "./server/status.js";

run({
  name: "A2C-SMCP",
  base: "operator/v1/",
  tokenHelp:
    "The token that the Server printed at its start, or an API key or JWT with the role operator.",
  routes: [
    ["offices", offices],
    ["offices/:office", office],
    ["offices/:office/calls", calls],
    ["calls", calls],
    ["calls/:key", call],
    ["sign-ins", signIns],
    ["status", status],
    ["log", log],
    ["offices/:office/computers/:computer", computer],
  ],
  links: ["offices", "calls", "sign-ins", "status", "log"],
  optional: {
    route: "sign-ins",
    isOn: async (api, signal) => (await api.get("status", signal)).sign_in,
  },
  live: () => new ServerLive(),
  account: (api) => button("Revoke a key…", () => chooseAndRevoke(api)),
});
