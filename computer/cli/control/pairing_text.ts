import { quoted } from "../../../shared/shown_text.ts";
import type { PairingEvent } from "../../control/messages.ts";

/** Describes the link, and what to do with it. */
export function linkLines(
  { link, untilMs, warnings }: Extract<PairingEvent, { event: "link" }>,
  now: number,
): string[] {
  const minutes = Math.max(1, Math.round((untilMs - now) / 60_000));
  return [
    ...warnings.map((text) => `warning: ${text}`),
    link,
    `Open this link within ${minutes} minutes, once: scan the code with your phone, or run on another machine: smcp-computer approve 'LINK'`,
    "It shows six digits. Type here only what a phone in your hand shows: whoever sends you digits is about to answer in your name.",
  ];
}

/** Describes that a device shows digits. */
export const openedLine = (label: string): string =>
  `${quoted(label)} has opened the link, and shows six digits`;

/** Describes that digits were wrong. */
export const wrongLine = (triesLeft: number): string =>
  triesLeft === 0
    ? "wrong digits"
    : `wrong digits; ${triesLeft} more ${triesLeft === 1 ? "try" : "tries"}`;

/** Describes that a device was paired. */
export const pairedLine = (label: string, computer: string): string =>
  `paired: ${quoted(label)} can answer for ${
    quoted(computer)
  }; smcp-computer devices lists all, and removes them`;
