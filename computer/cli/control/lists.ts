/**
 * The commands `devices` and `rules`: lists of a Computer that runs, and what removes an item of them.
 *
 * @module
 */
import { print, printJson } from "../../../cli/print.ts";
import { pad, plain, textWidth } from "../../../cli/terminal_text.ts";
import { relativeTime } from "../../../shared/time/relative_time.ts";
import { quoted } from "../../../shared/shown_text.ts";
import type {
  KnownDevice,
  ListedPermission,
  RuleList,
} from "../../control/messages.ts";
import { permissionLeft } from "../report.ts";
import { type ChoiceFlags, reached } from "./reach.ts";

/** The flags of a list. */
interface ListFlags extends ChoiceFlags {
  /** Print JSON. */
  json?: boolean;
}

/** Lists the devices. */
export const devices = (flags: ListFlags): Promise<void> =>
  reached(flags, async (computer) => {
    const all = await computer.request({ command: "devices" });
    if (flags.json) return printJson({ devices: all });
    print(deviceLines(all, Date.now()).join("\n"));
  });

/** Removes a device. */
export const removeDevice = (
  which: string,
  flags: ListFlags,
): Promise<void> =>
  reached(flags, async (computer) => {
    const gone = await computer.request({ command: "removeDevice", which });
    if (flags.json) return printJson({ removed: gone });
    print(
      `removed ${
        quoted(gone.label)
      }; it cannot answer any more, and its own list still names the Computer until it forgets it`,
    );
  });

/** Lists rules and permissions. */
export const rules = (flags: ListFlags): Promise<void> =>
  reached(flags, async (computer) => {
    const list = await computer.request({ command: "rules" });
    if (flags.json) return printJson(list);
    print(ruleLines(list, Date.now()).join("\n"));
  });

/** Removes a permission. */
export const removePermission = (
  which: string,
  flags: ListFlags,
): Promise<void> =>
  reached(flags, async (computer) => {
    const gone = await computer.request({ command: "removePermission", which });
    if (flags.json) return printJson({ removed: gone });
    print(`removed: ${plain(gone.covers)}`);
  });

/** How much of an id is shown; enough of it to remove a device by. */
const SHOWN_ID = 8;

/** Writes devices as lines. */
export function deviceLines(
  devices: readonly KnownDevice[],
  now: number,
): string[] {
  if (devices.length === 0) {
    return ["no device can answer; smcp-computer pair adds one"];
  }
  const labels = devices.map(({ label }) => quoted(label));
  const width = Math.max(...labels.map(textWidth));
  return devices.map(({ id, paired, seen, isWoken }, at) => {
    const times = [
      `paired ${relativeTime(paired, now)}`,
      seen === undefined
        ? "not seen since the start"
        : `seen ${relativeTime(seen, now)}`,
      ...isWoken ? ["can be woken"] : [],
    ];
    const label = pad(labels[at] ?? "", width);
    return `${label}  ${plain(id.slice(0, SHOWN_ID))}  ${times.join(", ")}`;
  });
}

/** Writes rules, numbered as they decide, and permissions. */
export function ruleLines(
  { rules, permissions }: RuleList,
  now: number,
): string[] {
  return [
    "The first rule that fits decides:",
    ...rules.map(({ text, id }) => `  ${plain(text)}  (${plain(id)})`),
    permissions.length === 0
      ? "No permissions: nothing was allowed beyond them"
      : "Permissions, which answer where a rule asks:",
    ...permissions.map((each) => `  ${permissionLine(each, now)}`),
  ];
}

const permissionLine = (permission: ListedPermission, now: number): string => {
  const { id, covers } = permission;
  const left = permissionLeft(permission, now);
  return `${plain(id)}  ${plain(covers)}${left === "" ? "" : `  (${left})`}`;
};
