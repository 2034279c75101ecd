import { define, isRecord } from "../../util/values.ts";

/** A JSON value, as far as it is kept. */
export interface Clipped {
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
