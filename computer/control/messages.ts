/**
 * What a command asks of a running Computer of the same user, and what it gets: lines of JSON on a socket.
 *
 * The first line has the token of the Computer's entry. A request is one line, and so is its result;
 * a pairing has events and digits in between.
 *
 * @module
 */
import { z } from "zod";

/** The most bytes of a line of a command, and of one of the Computer. */
export const REQUEST_BYTES = 65_536;
/** The most bytes of a line of the Computer. */
export const RESULT_BYTES = 4 * 2 ** 20;

/** Where a Computer is: what commands choose it by. */
export interface ComputerPlace {
  /** Its name. */
  readonly name: string;
  /** The office that it is in, or is to join. */
  readonly office?: string | undefined;
  /** The address of its Server. */
  readonly url: string;
  /** The process that it is. */
  readonly pid: number;
}

/** A device that may answer. */
export interface KnownDevice {
  /** Its id. */
  readonly id: string;
  /** What it calls itself; unique at its Computer. */
  readonly label: string;
  /** When it was paired, as an ISO date. */
  readonly paired: string;
  /** When it last asked or answered since the Computer started, likewise. */
  readonly seen?: string | undefined;
  /** Whether it can be woken. */
  readonly isWoken: boolean;
}

/** A rule, in the order in which they decide. */
export interface ListedRule {
  /** Names it, and where it comes from: `rules.0`, `forbidden_tools`, `auto_apply`. */
  readonly id: string;
  /** What it does with a call. */
  readonly then: "allow" | "ask" | "deny";
  /** What it is about, in words. */
  readonly text: string;
}

/** A permission that a person has given. */
export interface ListedPermission {
  /** Names it. */
  readonly id: string;
  /** What it allows, in one sentence. */
  readonly covers: string;
  /** How many calls it still allows; absent where that has no end. */
  readonly usesLeft?: number | undefined;
  /** When it ends, in milliseconds since 1970; absent where it does not. */
  readonly untilMs?: number | undefined;
}

/** Rules and permissions. */
export interface RuleList {
  /** As they decide. */
  readonly rules: readonly ListedRule[];
  /** What people allowed beyond them. */
  readonly permissions: readonly ListedPermission[];
}

/** What happens during a pairing. */
export type PairingEvent =
  /** The link to open, until when, and what may prevent that. */
  | {
    readonly event: "link";
    readonly link: string;
    readonly untilMs: number;
    readonly warnings: readonly string[];
  }
  /** A device has opened it, and shows digits. */
  | { readonly event: "opened"; readonly label: string }
  /** The digits were wrong. */
  | { readonly event: "wrong"; readonly triesLeft: number };

/** How a pairing ended. */
export interface PairingEnd {
  /** The label of the device; absent where there is none. */
  readonly paired?: string | undefined;
  /** Why there is none. */
  readonly reason?: string | undefined;
}

const place = z.object({
  name: z.string(),
  office: z.string().optional(),
  url: z.string(),
  pid: z.int(),
}) satisfies z.ZodType<ComputerPlace>;

const device = z.object({
  id: z.string(),
  label: z.string(),
  paired: z.string(),
  seen: z.string().optional(),
  isWoken: z.boolean(),
}) satisfies z.ZodType<KnownDevice>;

const rules = z.object({
  rules: z.array(z.object({
    id: z.string(),
    then: z.enum(["allow", "ask", "deny"]),
    text: z.string(),
  })),
  permissions: z.array(z.object({
    id: z.string(),
    covers: z.string(),
    usesLeft: z.number().optional(),
    untilMs: z.number().optional(),
  })),
}) satisfies z.ZodType<RuleList>;

const pairingEnd = z.object({
  paired: z.string().optional(),
  reason: z.string().optional(),
}) satisfies z.ZodType<PairingEnd>;

/** The result of each request. */
export interface ControlResults {
  /** Where the Computer is. */
  readonly where: ComputerPlace;
  /** The devices that may answer. */
  readonly devices: readonly KnownDevice[];
  /** The device that was removed. */
  readonly removeDevice: KnownDevice;
  /** Rules and permissions. */
  readonly rules: RuleList;
  /** The permission that was removed. */
  readonly removePermission: ListedPermission;
  /** How the pairing ended. */
  readonly pair: PairingEnd;
}
/** The name of a request. */
export type ControlCommand = keyof ControlResults;

/** The forms of the results. */
export const RESULTS: {
  readonly [C in ControlCommand]: z.ZodType<ControlResults[C]>;
} = {
  where: place,
  devices: z.array(device),
  removeDevice: device,
  rules,
  removePermission: rules.shape.permissions.element,
  pair: pairingEnd,
};

const text = z.string().min(1).max(2_048);

/** What the first line of a connection is. */
export const HELLO = z.strictObject({ token: text });

/** What a command may ask. */
export const REQUEST = z.discriminatedUnion("command", [
  z.strictObject({ command: z.literal("where") }),
  z.strictObject({ command: z.literal("devices") }),
  z.strictObject({ command: z.literal("removeDevice"), which: z.string() }),
  z.strictObject({ command: z.literal("rules") }),
  z.strictObject({ command: z.literal("removePermission"), which: z.string() }),
  z.strictObject({ command: z.literal("pair"), page: z.string().optional() }),
]);
/** A request of a command. */
export type ControlRequest = z.infer<typeof REQUEST>;

/** What a command sends during a pairing. */
export const DIGITS = z.strictObject({ digits: z.string().max(64) });

/** A line of the Computer. */
export const REPLY = z.union([
  z.discriminatedUnion("event", [
    z.object({
      event: z.literal("link"),
      link: z.string(),
      untilMs: z.number(),
      warnings: z.array(z.string()),
    }),
    z.object({ event: z.literal("opened"), label: z.string() }),
    z.object({ event: z.literal("wrong"), triesLeft: z.number() }),
  ]),
  z.object({ result: z.unknown() }),
  z.object({ error: z.string() }),
]);
