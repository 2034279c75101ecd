// @ts-check
/// <reference lib="dom" />
import { call, calls } from "./computer/calls.js";
import { ComputerLive } from "./computer/live.js";
import { overview } from "./computer/overview.js";
import { withQuestions } from "./computer/questions.js";
import { tools } from "./computer/tools.js";
import { run } from "./kit/page.js";

run({
  name: "A2C-SMCP Computer",
  base: "ui/v1/",
  tokenHelp:
    "The end of the link that the Computer printed at its start, after #token=; it changes at each start.",
  routes: [
    ["overview", withQuestions(overview)],
    ["tools", withQuestions(tools)],
    ["calls", withQuestions(calls)],
    ["calls/:key", withQuestions(call)],
  ],
  links: ["overview", "tools", "calls"],
  live: () => new ComputerLive(),
});
