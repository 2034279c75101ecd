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
import { define, isRecord } from "../../util/values.ts";

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
  /** How far it is, if its Agent asked to be told. */
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
  params: Clipped | undefined;
  result?: Clipped;
}

/** How much is kept: calls, and characters of one's arguments or answer (`each`) and of all. */
const DEFAULT_LIMITS = { calls: 1_000, each: 2 ** 18, contents: 2 ** 24 };

/** The latest calls of a Computer, with their contents; the oldest are forgotten. */
export class CallLog {
  readonly #changes: Changes;
  readonly #limits: typeof DEFAULT_LIMITS;
  readonly #entries = new Map<number, Entry>();
  /** Keys of the running ones by Agent and id, oldest first: a repeated request is another one. */
  readonly #running = new Map<string, number[]>();
  #last = 0;
  #contents = 0;
  /** Older ones have no contents any more. */
  #firstKept = 1;

  constructor(changes: Changes, limits = DEFAULT_LIMITS) {
    this.#changes = changes;
    this.#limits = limits;
  }

  /** The key of the oldest call that is listed. */
  get first(): number {
    return this.#last - this.#entries.size + 1;
  }

  /** Notes that a call has begun. */
  began(call: ToolCallArrived): void {
    const { tool, reqId, params } = call;
    const key = ++this.#last;
    const kept = clip(params, this.#limits.each);
    this.#entries.set(key, {
      call: {
        key,
        agent: brief(callerText(call)),
        tool: brief(tool),
        reqId: brief(reqId),
        beganAt: Date.now(),
      },
      version: this.#changes.next(),
      params: kept,
    });
    const id = callKey(call);
    this.#running.set(id, [...this.#running.get(id) ?? [], key]);
    if (this.#entries.size > this.#limits.calls) {
      const { first } = this;
      this.#drop(first);
      this.#entries.delete(first);
    }
    this.#count(kept);
  }

  /** Notes how far a call is. */
  advanced({ progress, ...call }: ToolCallAdvanced): void {
    this.#update(this.#running.get(callKey(call))?.[0], { progress });
  }

  /** Notes what a call waits for. */
  waits({ waiting, ...call }: ToolCallWaiting): void {
    this.#update(this.#running.get(callKey(call))?.[0], {
      waiting: waiting ?? undefined,
    });
  }

  /** Notes that a call has ended. */
  ended({ durationMs, result, ...call }: ToolCallEnded): void {
    const id = callKey(call);
    const [key, ...others] = this.#running.get(id) ?? [];
    if (others.length > 0) this.#running.set(id, others);
    else this.#running.delete(id);
    const entry = this.#entries.get(key ?? 0);
    if (!entry) return;
    const code = result?.isError ? resultMeta(result).error_code : undefined;
    this.#update(key, {
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

  /** Returns what was sent and answered; `undefined` for what is forgotten. */
  content(key: number) {
    const { params, result } = this.#entries.get(key) ?? {};
    return params && {
      params: params.value,
      ...(result && { result: result.value }),
      /** Whether something of them is missing. */
      isClipped: params.isClipped || result?.isClipped === true,
    };
  }

  #update(key: number | undefined, change: Partial<ListedCall>): void {
    const entry = this.#entries.get(key ?? 0);
    if (!entry) return;
    entry.call = { ...entry.call, ...change };
    entry.version = this.#changes.next();
  }

  #count({ size }: Clipped): void {
    this.#contents += size;
    while (
      this.#contents > this.#limits.contents && this.#firstKept < this.#last
    ) {
      this.#drop(this.#firstKept++);
    }
  }

  /** Drops the contents of a call. */
  #drop(key: number): void {
    const entry = this.#entries.get(key);
    if (!entry?.params) return;
    this.#contents -= entry.params.size + (entry.result?.size ?? 0);
    entry.params = undefined;
    delete entry.result;
  }
}

/** What others chose may have any length. */
const brief = (text: string): string =>
  text.length > MAX_NAME_CHARS ? `${text.slice(0, MAX_NAME_CHARS)}…` : text;

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
    return kept.length === whole.length ? whole : kept + full();
  };
  const copy = (each: unknown): unknown => {
    if (left <= 0) return full();
    if (typeof each === "string") return text(each);
    if (Array.isArray(each)) {
      left -= 2;
      const kept: unknown[] = [];
      for (const item of each) {
        kept.push(copy(item));
        if (left <= 0 && kept.length < each.length) {
          kept.push(full());
          break;
        }
      }
      return kept;
    }
    if (isRecord(each)) {
      left -= 2;
      const kept: Record<string, unknown> = {};
      for (const key of Object.keys(each)) {
        if (left <= 0) {
          define(kept, full(), MARK);
          break;
        }
        define(kept, text(key), copy(each[key]));
      }
      return kept;
    }
    left -= 5;
    return each;
  };
  const kept = copy(value);
  return { value: kept, size: room - left, isClipped };
}
