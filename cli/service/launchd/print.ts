import type { ServiceState } from "../service.ts";

/** The exit code and signal that launchd tells of a service that did not fail. */
const FINE = /^(0\b|\(never exited\))/;

/** Reads what `launchctl print` says of a service; only its own fields have one tab before them. */
export function stateOfJob(output: string): ServiceState {
  const field = (name: string): string | undefined =>
    new RegExp(`^\\t${name} = (.*)$`, "m").exec(output)?.[1]?.trim();
  const pid = field("pid");
  if (field("state") === "running" && pid !== undefined) {
    return { state: "running", detail: `process ${pid}` };
  }
  const signal = field("last terminating signal");
  const code = field("last exit code") ?? "0";
  if (signal !== undefined) {
    return { state: "failed", detail: `a signal ended it: ${signal}` };
  }
  if (!FINE.test(code)) {
    return {
      state: "failed",
      detail: `exit code ${code}; it is started again soon`,
    };
  }
  return {
    state: field("state") === "spawn scheduled" ? "starting" : "stopped",
  };
}
