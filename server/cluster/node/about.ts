import { PACKAGE_VERSION } from "../../../cli/version.ts";
import type { AgreedSettings } from "../../shared/cluster.ts";

/** What a node publishes about itself. */
export interface About {
  /** What the ids of its sessions begin with. */
  readonly name: string;
  /** The values of the settings that all nodes should have alike, as they are shown. */
  readonly settings: Readonly<Record<string, string>>;
}

/** A setting that two nodes have not alike. */
export interface Difference {
  /** The setting, as a flag or an option. */
  readonly setting: string;
  /** The value here. */
  readonly own: string;
  /** The value there. */
  readonly other: string;
}

/** Returns what a node publishes about itself. */
export const aboutOf = (
  name: string,
  settings: AgreedSettings & { readonly leaseMs: number },
): About => ({
  name,
  settings: {
    "package version": PACKAGE_VERSION,
    "--protocol": settings.protocols.join(","),
    "--max-members-per-office": String(settings.membersPerOffice),
    "--max-message-bytes": String(settings.maxMessageBytes),
    "--ping-interval": seconds(settings.pingIntervalMs),
    "--ping-timeout": seconds(settings.pingTimeoutMs),
    "--cluster-lease": seconds(settings.leaseMs),
  },
});

const seconds = (milliseconds: number): string => `${milliseconds / 1000} s`;

/** Reads what another node publishes; of another version it may be less, or more. */
export function readAbout(text: string): About {
  const { name, settings } = toRecord(text);
  return {
    name: typeof name === "string" ? name : "",
    settings: Object.fromEntries(
      Object.entries(Object(settings)).filter((entry): entry is [
        string,
        string,
      ] => typeof entry[1] === "string"),
    ),
  };
}

function toRecord(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/** Compares the settings of two nodes; what only one of them has is not compared. */
export const differences = (own: About, other: About): Difference[] =>
  Object.entries(own.settings).flatMap(([setting, value]) => {
    const there = other.settings[setting];
    return there === undefined || there === value
      ? []
      : [{ setting, own: value, other: there }];
  });
