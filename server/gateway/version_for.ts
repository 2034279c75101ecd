import type { ProtocolName } from "../../protocol/mod.ts";

/** The offices of one protocol version. */
export interface OfficesOfVersion {
  /** The version. */
  readonly protocol: ProtocolName;
  /** Knows who is in an office. */
  readonly sessions: {
    agentOf(office: string): Promise<string | undefined>;
    hasComputers(office: string): Promise<boolean>;
  };
}

/**
 * Chooses in which protocol version a gateway's Agent sits in an office: the newest in which the
 * office has Computers, since tools are what it is there for; else 0.2, or the newest without that.
 *
 * @param versions oldest first
 */
export async function versionFor(
  office: string,
  versions: readonly OfficesOfVersion[],
): Promise<OfficesOfVersion> {
  const newest = versions.at(-1);
  if (newest === undefined) throw new Error("Cannot choose: none is served");
  if (versions.length === 1) return newest;
  for (const version of versions.toReversed()) {
    if (await version.sessions.hasComputers(office)) return version;
  }
  return versions.find(({ protocol }) => protocol === "0.2") ?? newest;
}
