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
import type { Changes } from "./change_feed.ts";
import { isRecord } from "../../../protocol/names.ts";
import { copyOf } from "../../../shared/bytes.ts";
import { define } from "../../util/values.ts";

/** A call as the page lists it. */
export interface ListedCall {
  /** Numbers the calls, from 1. */
  readonly key: number;
  /** The calling Agent, or operator of the Server. */
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

/** The most that is kept: calls, and characters of one's arguments or answer (`each`) and of all. */
const LIMITS = { calls: 1_000, each: 2 ** 18, contents: 2 ** 24 };

/** Keeps the latest calls of a Computer, with their contents; the oldest are forgotten. */
export class CallLog {
  readonly #changes: Changes;
  readonly #limits: typeof LIMITS;
  readonly #entries = new Map<number, Entry>();
  /** The running ones by Agent and id, oldest first: a repeated request is another one. */
  readonly #running = new Map<string, Entry[]>();
  #last = 0;
  #contents = 0;

  constructor(changes: Changes, limits = LIMITS) {
    this.#changes = changes;
    this.#limits = limits;
  }

  /** The key of the oldest call that is listed. */
  get first(): number {
    return this.#last - this.#entries.size + 1;
  }

  /** Adds a call that has begun. */
  began(call: ToolCallArrived): void {
    const key = ++this.#last;
    const params = clip(call.params, this.#limits.each);
    const entry = {
      call: {
        key,
        agent: brief(callerText(call)),
        tool: brief(call.tool),
        reqId: brief(call.reqId),
        beganAt: Date.now(),
      },
      version: this.#changes.next(),
      params,
    };
    this.#entries.set(key, entry);
    const id = callKey(call);
    this.#running.set(id, [...this.#running.get(id) ?? [], entry]);
    if (this.#entries.size > this.#limits.calls) {
      this.#drop(this.#entries.get(this.first));
      this.#entries.delete(this.first);
    }
    this.#count(params);
  }

  /** Sets the progress of a call. */
  advanced({ progress, ...call }: ToolCallAdvanced): void {
    this.#update(this.#running.get(callKey(call))?.[0], { progress });
  }

  /** Sets the person that a call waits for. */
  waits({ waiting, ...call }: ToolCallWaiting): void {
    const entry = this.#running.get(callKey(call))?.[0];
    this.#update(entry, { waiting: waiting ?? undefined });
  }

  /** Sets the outcome of a call. */
  ended({ durationMs, result, ...call }: ToolCallEnded): void {
    const id = callKey(call);
    const [entry, ...others] = this.#running.get(id) ?? [];
    if (others.length > 0) this.#running.set(id, others);
    else this.#running.delete(id);
    if (!entry) return;
    const code = result?.isError ? resultMeta(result).error_code : undefined;
    this.#update(entry, {
      endedAt: entry.call.beganAt + durationMs,
      ms: durationMs,
      outcome: howItEnded(result),
      ...(typeof code === "number" && { code }),
    });
    if (!result || !entry.params) return;
    entry.result = clip(result, this.#limits.each);
    this.#count(entry.result);
  }

  /** Lists the calls that changed since, oldest first. */
  since(version: number): ListedCall[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.version > version)
      .map(({ call }) => call);
  }

  /**
   * Returns the arguments of a call, its answer once it has ended, and whether something of them is missing.
   *
   * @returns `undefined` if they are forgotten
   */
  content(key: number) {
    const { params, result } = this.#entries.get(key) ?? {};
    return params && {
      params: params.value,
      ...(result && { result: result.value }),
      isClipped: params.isClipped || result?.isClipped === true,
    };
  }

  #update(entry: Entry | undefined, change: Partial<ListedCall>): void {
    if (!entry) return;
    entry.call = { ...entry.call, ...change };
    entry.version = this.#changes.next();
  }

  #drop(entry: Entry | undefined): void {
    if (!entry?.params) return;
    this.#contents -= entry.params.size + (entry.result?.size ?? 0);
    delete entry.params;
    delete entry.result;
  }

  /** Counts contents; beyond the limit, those of the oldest calls are dropped, never the newest. */
  #count({ size }: Clipped): void {
    this.#contents += size;
    for (const entry of this.#entries.values()) {
      if (this.#contents <= this.#limits.contents) return;
      if (entry.call.key < this.#last) this.#drop(entry);
    }
  }
}

/** Names that others chose may have any length. */
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
 * Copies as much of a JSON value as fits. Never reads much more than that, since a result may have
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
