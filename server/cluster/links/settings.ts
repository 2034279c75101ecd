import type { LinkLimits } from "./link_port.ts";
import type { WatchLimits } from "./watch.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** What a message has besides what a client sent. */
const ENVELOPE_BYTES = 64 * KIB;

/**
 * Redis cuts a subscriber off at 32 MiB of output, or at 8 MiB that last for 60 seconds: what all peers
 * together may have on their way to a node stays below, with what they send over their windows.
 */
const INBOUND_BYTES = 6 * MIB;

/** How nodes talk; the defaults are meant for all but tests. */
export interface LinkOptions {
  /** The largest message of a client. */
  readonly maxMessageBytes: number;
  /** Bytes that a peer may have on their way to this node; fewer with many peers. Default: 1 MiB. */
  readonly windowBytes?: number;
  /** A larger message travels in pieces of this size. Default: 256 KiB. */
  readonly pieceBytes?: number;
  /** The most bytes that wait for a node. Default: 64 MiB. */
  readonly queueBytes?: number;
  /** How often a node tells each peer that it lives. Default: 2,000. */
  readonly beatMs?: number;
  /** A peer that is not heard of for so long is silent. Default: 6,000. */
  readonly silentMs?: number;
  /** How often this node looks whether its peers still receive. Default: 500. */
  readonly lookMs?: number;
  /** The least time between two looks that prove an end. Default: 500. */
  readonly goneMs?: number;
  /** After a new connection of its own a node trusts no look for so long. Default: 2,000. */
  readonly settleMs?: number;
  /** How long a greeting waits for an answer. Default: 2,000. */
  readonly answerMs?: number;
  /** How long a goodbye waits for what is queued. Default: 1,000. */
  readonly goodbyeMs?: number;
  /** The clock, of which the connections' age is. Default: `performance.now`. */
  readonly now?: () => number;
}

/** {@linkcode LinkOptions} with all defaults. */
export interface LinkSettings
  extends LinkLimits, WatchLimits, Required<LinkOptions> {}

/** Fills in the defaults. */
export const toSettings = (options: LinkOptions): LinkSettings => ({
  windowBytes: MIB,
  pieceBytes: 256 * KIB,
  queueBytes: 64 * MIB,
  beatMs: 2_000,
  silentMs: 6_000,
  lookMs: 500,
  goneMs: 500,
  settleMs: 2_000,
  answerMs: 2_000,
  goodbyeMs: 1_000,
  now: () => performance.now(),
  ...options,
  maxMessageBytes: options.maxMessageBytes + ENVELOPE_BYTES,
});

/** Returns the window of one of so many peers: each has room for a piece. */
export const windowOf = (
  { windowBytes, pieceBytes }: LinkSettings,
  peers: number,
): number =>
  Math.max(
    pieceBytes,
    Math.min(windowBytes, Math.floor(INBOUND_BYTES / Math.max(1, peers))),
  );
