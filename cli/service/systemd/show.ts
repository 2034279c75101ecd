import type { ServiceState } from "../service.ts";

/** The properties of a unit that {@linkcode stateOfUnit} reads. */
export const SHOWN: readonly string[] = [
  "LoadState",
  "ActiveState",
  "SubState",
  "Result",
  "ExecMainStatus",
  "MainPID",
  "StateChangeTimestamp",
];

/** Reasons of a failure in words, by the `Result` of a unit. */
const REASONS: Readonly<Record<string, string>> = {
  "start-limit-hit": "it failed too often, and is not started again",
  "signal": "a signal ended it",
  "core-dump": "it crashed",
  "oom-kill": "the machine was out of memory",
  "timeout": "it did not start or stop in time",
  "resources":
    "its folder or its memory is missing; does its folder still exist?",
};

/** systemd's own exit codes, for what went wrong before the command ran. */
const SYSTEMD_STATUS: Readonly<Record<string, string>> = {
  "200": "its folder is not there any more; install it again in another",
  "203": "its program is not there any more; install it again",
};

/** Reads what `systemctl show` prints of a unit. */
export function stateOfUnit(output: string): ServiceState {
  const shown: Partial<Record<string, string>> = Object.fromEntries(
    output.split("\n").map((line) => {
      const sign = line.indexOf("=");
      return [line.slice(0, sign), line.slice(sign + 1).trim()];
    }),
  );
  const since = shown.StateChangeTimestamp;
  const dated = since ? { since } : {};
  const status = shown.ExecMainStatus ?? "0";
  const failure = SYSTEMD_STATUS[status] ?? REASONS[shown.Result ?? ""] ??
    `exit code ${status}`;
  if (shown.LoadState !== "loaded") {
    return {
      state: "stopped",
      detail: `systemd says of its unit: ${shown.LoadState || "nothing"}`,
    };
  }
  switch (shown.ActiveState) {
    case "active":
    case "reloading":
      return {
        state: "running",
        ...dated,
        detail: `process ${shown.MainPID ?? "?"}`,
      };
    case "activating":
      return shown.SubState === "auto-restart"
        ? {
          state: "failed",
          ...dated,
          detail: `${failure}; it is started again soon`,
        }
        : { state: "starting", ...dated };
    case "failed":
      return { state: "failed", ...dated, detail: failure };
    default:
      return { state: "stopped", ...dated };
  }
}
