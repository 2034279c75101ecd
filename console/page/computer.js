// @ts-check
/// <reference lib="dom" />
import { createLive } from "./computer/live.js";
import * as call from "./computer/call.js";
import * as calls from "./computer/calls.js";
import * as overview from "./computer/overview.js";
import * as tools from "./computer/tools.js";
import { withQuestions } from "./computer/questions.js";
import { run } from "./kit/page.js";

run({
  name: "A2C-SMCP Computer",
  base: "ui/v1/",
  tokenHelp:
    "The end of the link that the Computer printed at its start, after #token=; it is a new one each time.",
  routes: [
    ["overview", withQuestions(overview)],
    ["tools", withQuestions(tools)],
    ["calls", withQuestions(calls)],
    ["calls/:key", withQuestions(call)],
  ],
  links: [["#/overview", "Overview"], ["#/tools", "Tools"], [
    "#/calls",
    "Calls",
  ]],
  live: createLive,
});
