import {
  resultMeta,
  type ToolProgress,
  type Waiting,
} from "../../../protocol/mod.ts";
import type {
  ToolCallAdvanced,
  ToolCallArrived,
  ToolCallEnded,
  ToolCallWaiting,
} from "../../tools/events.ts";
import { callerText, callKey, howItEnded } from "../report.ts";
import type { Changes } from "./news_feed.ts";
import { isRecord } from "../../../protocol/names.ts";
import { copyOf } from "../../../shared/bytes.ts";
import { define } from "../../util/values.ts";

/** A call as the page lists it. */
export interface ListedCall {
  /** Numbers the calls, from 1. */
  readonly key: number;
  /** The calling Agent, or which operator of the Server. */
  readonly agent: string;
  /** The name that it used. */
  readonly tool: string;
  /** Its id for the call. */
  readonly reqId: string;
  /** Milliseconds since the epoch. */
  readonly beganAt: number;
  /** Its progress, if its Agent asked for that. */
  readonly progress?: ToolProgress;
  /** The person that it waits for. */
  readonly waiting?: Waiting | undefined;
  /** Milliseconds since the epoch, when it has ended. */
  readonly endedAt?: number;
  /** How long it took, confirmation included. */
  readonly ms?: number;
  /** `ok`, or how it failed, in a word or two. */
  readonly outcome?: string;
  /** The code of its failure. */
  readonly code?: number;
}

interface Entry {
  call: ListedCall;
  version: number;
  params?: Clipped;
  result?: Clipped;
}

/** How much is kept: calls, and characters of one's arguments or answer (`each`) and of all. */
const DEFAULT_LIMITS = { calls: 1_000, each: 2 ** 18, contents: 2 ** 24 };

/** Keeps the latest calls of a Computer, with their contents; the oldest are forgotten. */
export function callLog(changes: Changes, limits = DEFAULT_LIMITS) {
  const entries = new Map<number, Entry>();
  /** The running ones by Agent and id, oldest first: a repeated request is another one. */
  const running = new Map<string, Entry[]>();
  let last = 0;
  let contents = 0;

  /** Returns the key of the oldest call that is listed. */
  const first = () => last - entries.size + 1;

  const update = (entry: Entry | undefined, change: Partial<ListedCall>) => {
    if (!entry) return;
    entry.call = { ...entry.call, ...change };
    entry.version = changes.next();
  };

  const drop = (entry: Entry | undefined) => {
    if (!entry?.params) return;
    contents -= entry.params.size + (entry.result?.size ?? 0);
    delete entry.params;
    delete entry.result;
  };

  /** Counts contents; where there are too many, those of the oldest calls are dropped, never the newest. */
  const count = ({ size }: Clipped) => {
    contents += size;
    for (const entry of entries.values()) {
      if (contents <= limits.contents) return;
      if (entry.call.key < last) drop(entry);
    }
  };

  return {
    first,

    /** Notes that a call has begun. */
    began(call: ToolCallArrived): void {
      const key = ++last;
      const params = clip(call.params, limits.each);
      const entry = {
        call: {
          key,
          agent: brief(callerText(call)),
          tool: brief(call.tool),
          reqId: brief(call.reqId),
          beganAt: Date.now(),
        },
        version: changes.next(),
        params,
      };
      entries.set(key, entry);
      const id = callKey(call);
      running.set(id, [...running.get(id) ?? [], entry]);
      if (entries.size > limits.calls) {
        drop(entries.get(first()));
        entries.delete(first());
      }
      count(params);
    },

    /** Notes how far a call is. */
    advanced({ progress, ...call }: ToolCallAdvanced): void {
      update(running.get(callKey(call))?.[0], { progress });
    },

    /** Notes what a call waits for. */
    waits({ waiting, ...call }: ToolCallWaiting): void {
      const entry = running.get(callKey(call))?.[0];
      update(entry, { waiting: waiting ?? undefined });
    },

    /** Notes that a call has ended. */
    ended({ durationMs, result, ...call }: ToolCallEnded): void {
      const id = callKey(call);
      const [entry, ...others] = running.get(id) ?? [];
      if (others.length > 0) running.set(id, others);
      else running.delete(id);
      if (!entry) return;
      const code = result?.isError ? resultMeta(result).error_code : undefined;
      update(entry, {
        endedAt: entry.call.beganAt + durationMs,
        ms: durationMs,
        outcome: howItEnded(result),
        ...(typeof code === "number" && { code }),
      });
      if (!result || !entry.params) return;
      entry.result = clip(result, limits.each);
      count(entry.result);
    },

    /** Lists the calls that changed since, oldest first. */
    since: (version: number): ListedCall[] =>
      [...entries.values()].filter((entry) => entry.version > version)
        .map(({ call }) => call),

    /** Returns what was sent and answered; `undefined` for what is forgotten. */
    content(key: number) {
      const { params, result } = entries.get(key) ?? {};
      return params && {
        params: params.value,
        ...(result && { result: result.value }),
        /** Whether something of them is missing. */
        isClipped: params.isClipped || result?.isClipped === true,
      };
    },
  };
}

/** What others chose may have any length. */
const brief = (text: string): string =>
  text.length > MAX_NAME_CHARS
    ? copyOf(`${text.slice(0, MAX_NAME_CHARS)}…`)
    : text;

const MAX_NAME_CHARS = 300;

/** A JSON value, as far as it is kept. */
interface Clipped {
  /** The value. */
  readonly value: unknown;
  /** About how many characters it has. */
  readonly size: number;
  /** Whether something of it is missing. */
  readonly isClipped: boolean;
}

const MARK = "…";

/**
 * Copies as much of a JSON value as fits. Never looks at much more than that, since a result may have
 * 100 MiB.
 *
 * @param room how many characters are kept, about
 */
export function clip(value: unknown, room: number): Clipped {
  let left = room;
  let isClipped = false;
  const full = () => {
    isClipped = true;
    return MARK;
  };
  const text = (whole: string): string => {
    const kept = whole.slice(0, Math.max(0, left));
    left -= kept.length + 2;
    return kept.length === whole.length ? whole : copyOf(kept + full());
  };
  const copy = (each: unknown): unknown => {
    if (left <= 0) return full();
    if (typeof each === "string") return text(each);
    if (Array.isArray(each)) {
      left -= 2;
      const kept: unknown[] = [];
      for (const item of each) {
        const isFull = left <= 0;
        kept.push(copy(item));
        if (isFull) break;
      }
      return kept;
    }
    if (isRecord(each)) {
      left -= 2;
      const kept: Record<string, unknown> = {};
      for (const key of Object.keys(each)) {
        const isFull = left <= 0;
        define(kept, isFull ? MARK : text(key), copy(each[key]));
        if (isFull) break;
      }
      return kept;
    }
    left -= 5;
    return each;
  };
  const kept = copy(value);
  return { value: kept, size: room - left, isClipped };
}
