import { assertEquals } from "@std/assert";
import { stateOfJob } from "../../../../cli/service/launchd.ts";
import type { ServiceState } from "../../../../cli/service/manager.ts";
import { stateOfUnit } from "../../../../cli/service/systemd.ts";

const since = "Mon 2026-11-23 02:00:00 UTC";

const UNITS: readonly (readonly [string, ServiceState])[] = [
  ["ActiveState=active\nMainPID=7", {
    state: "running",
    since,
    detail: "process 7",
  }],
  ["ActiveState=activating\nSubState=start", { state: "starting", since }],
  ["ActiveState=activating\nSubState=auto-restart\nExecMainStatus=1", {
    state: "failed",
    since,
    detail: "exit code 1; it is started again soon",
  }],
  ["ActiveState=failed\nResult=exit-code\nExecMainStatus=203", {
    state: "failed",
    since,
    detail: "its program is not there any more; install it again",
  }],
  ["ActiveState=failed\nResult=start-limit-hit\nExecMainStatus=1", {
    state: "failed",
    since,
    detail: "it failed too often, and is not started again",
  }],
  ["ActiveState=inactive", { state: "stopped", since }],
];

for (const [shown, state] of UNITS) {
  Deno.test(`stateOfUnit() of ${shown.replaceAll("\n", ", ")}`, () => {
    assertEquals(
      stateOfUnit(
        `LoadState=loaded\n${shown}\nStateChangeTimestamp=${since}\n`,
      ),
      state,
    );
  });
}

Deno.test("stateOfUnit() tells what systemd says of a unit that it did not load", () => {
  assertEquals(stateOfUnit("LoadState=not-found\nActiveState=inactive\n"), {
    state: "stopped",
    detail: "systemd says of its unit: not-found",
  });
});

const job = (...fields: string[]) =>
  `gui/501/smcp-server = {\n${
    fields.map((field) => `\t${field}\n`).join("")
  }\tspawn type = daemon (3)\n\tpid local endpoints = {\n\t\tstate = active\n\t}\n}\n`;

const JOBS: readonly (readonly [readonly string[], ServiceState])[] = [
  [["state = running", "pid = 7", "last exit code = (never exited)"], {
    state: "running",
    detail: "process 7",
  }],
  [["state = running", "pid = 7", "last exit code = 1"], {
    state: "running",
    detail: "process 7",
  }],
  [["state = spawn scheduled", "last exit code = 78: EX_CONFIG"], {
    state: "failed",
    detail: "exit code 78: EX_CONFIG; it is started again soon",
  }],
  [["state = not running", "last terminating signal = Killed: 9"], {
    state: "failed",
    detail: "a signal ended it: Killed: 9",
  }],
  [["state = spawn scheduled", "last exit code = (never exited)"], {
    state: "starting",
  }],
  [["state = not running", "last exit code = 0"], { state: "stopped" }],
];

for (const [fields, state] of JOBS) {
  Deno.test(`stateOfJob() of ${fields.join(", ")}`, () => {
    assertEquals(stateOfJob(job(...fields)), state);
  });
}
