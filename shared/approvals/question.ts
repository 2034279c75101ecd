/**
 * What a Computer asks of a device, and what a device answers: the payloads of messages, which are JSON.
 *
 * @module
 */

/** What a person may choose; the Computer offers some of them. */
export type OptionId = "once" | "hour" | "always" | "no" | "mute";

/** An answer that is offered. */
export interface QuestionOption {
  /** What it means. */
  readonly id: OptionId;
  /** The text of its button. */
  readonly text: string;
  /** What it would allow or refuse from now on, in one sentence; absent where it is about this call alone. */
  readonly covers?: string;
}

/**
 * A question, as the JSON text that the Computer writes once: it is never serialized again, and its SHA-256 is
 * what an answer is about. The tool runs with the `arguments` of that text.
 */
export interface Question {
  readonly v: 1;
  /** 16 random bytes in base64url. */
  readonly id: string;
  /** The Computer's name. */
  readonly computer: string;
  /** Milliseconds since 1970, by the Computer's clock. */
  readonly asked: number;
  /** How long it is open, in ms. */
  readonly ms: number;
  /** The caller, by the Server's word. */
  readonly caller: {
    readonly kind: "agent" | "operator";
    readonly name: string;
  };
  /** The MCP server's name. */
  readonly server: string;
  /** Its `bundle_id`, where that is not its name. */
  readonly bundle?: string;
  /** The tool's original name. */
  readonly tool: string;
  /** The name that the caller used, where it is another one. */
  readonly alias?: string;
  /** The hash of the tool's definition. */
  readonly definition: string;
  /** The rule that asks, in words. */
  readonly rule: { readonly id: string; readonly text: string };
  /** The version of the rules. */
  readonly rules: string;
  readonly options: readonly QuestionOption[];
  /** What the tool runs with; none in a question that is too large. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** How many bytes of arguments were left out: such a question can be refused alone. */
  readonly omitted?: number;
  /** What a file has now, where a rule names its arguments. */
  readonly diff?: {
    /** The argument with the new content. */
    readonly of: string;
    /** The content now; absent for a file that does not exist. */
    readonly before?: string;
  };
}

/** An open question, in the news. */
export interface OpenQuestion {
  /** The text of a {@linkcode Question}. */
  readonly question: string;
  /** How long it stays open, in ms. */
  readonly left: number;
  /** Whether its call has timed out: a yes is for its repetition. */
  readonly late?: boolean;
}

/** A question that has ended within ten minutes. */
export interface EndedQuestion {
  /** The SHA-256 of its text, in base64url. */
  readonly hash: string;
  /** Which device answered it, or why it ended, such as `answered at the terminal`. */
  readonly by: string;
  /** The answer of a device; absent where it ended otherwise. */
  readonly answer?: OptionId;
}

/** The payloads by kind; bytes are base64url. */
export interface Payloads {
  readonly hello: {
    readonly sign: string;
    readonly seal: string;
    readonly mac: string;
    /** What the device calls itself. */
    readonly label: string;
  };
  readonly code: { readonly nonce: string };
  readonly wait: { readonly nonce: string; readonly wait: number };
  readonly paired: {
    /** The nonce of the request. */
    readonly re: string;
    /** 32 bytes. */
    readonly token: string;
    /** The Computer's name. */
    readonly name: string;
  };
  readonly poll: {
    readonly nonce: string;
    /** The hashes of the questions that it shows. */
    readonly have: readonly string[];
    /** How long it waits for a change, in ms. */
    readonly wait: number;
    /** How to wake it. */
    readonly push?: PushSubscription;
  };
  readonly news: {
    readonly re: string;
    /** Proves, in an answer, that it follows these news. */
    readonly tick: string;
    readonly name: string;
    readonly questions: readonly OpenQuestion[];
    readonly ended: readonly EndedQuestion[];
  };
  readonly answer: {
    readonly re: string;
    readonly hash: string;
    readonly option: OptionId;
    /** Why not, at most 500 characters; the model reads it. */
    readonly reason?: string;
    readonly tick: string;
  };
  readonly taken: {
    readonly re: string;
    readonly hash: string;
    /** `taken`, or why not: `unknown`, `ended: BY`, `stale`, `expired`, `too large`, `no such option`. */
    readonly said: string;
  };
}

/** A subscription of Web Push; its VAPID keys belong to the device. */
export interface PushSubscription {
  readonly endpoint: string;
  /** The public key of the subscription, 65 bytes. */
  readonly p256dh: string;
  /** 16 bytes. */
  readonly auth: string;
  /** The VAPID pair, as a private JWK of ECDSA P-256. */
  readonly vapid: JsonWebKey;
}

/** The most of everything that is bounded. */
export const LIMITS = {
  devices: 8,
  pairMs: 300_000,
  tickMs: 60_000,
  endedMs: 600_000,
  lateMs: 600_000,
  /** Of a request, and of an answer, in bytes. */
  requestBytes: 65_536,
  answerBytes: 524_288,
  /** Of a question that can be allowed, in bytes within a message, which must fit with what else it has. */
  questionBytes: 245_760,
  open: 20,
  waitMs: 25_000,
  reason: 500,
  label: 40,
} as const;
