/**
 * Families of metrics, and their text in the exposition format of Prometheus (version 0.0.4).
 *
 * A family is a name, a help text, a type and the samples that it has when it is read. Gauges and
 * counts that somebody else keeps are read from there; what only metrics need is kept in
 * {@linkcode newCounter} and {@linkcode newHistogram}, a number for each combination of labels.
 *
 * @module
 */

/** The labels of a sample: values by name, in the order in which they are written. */
export type Labels = Readonly<Record<string, string>>;

/** A value, its labels, and what it appends to the name of its family, such as `_sum`. */
export type Sample = readonly [labels: Labels, value: number, suffix?: string];

/** All samples of one name. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  /** Returns the current samples; called once for each text. */
  samples(): Iterable<Sample>;
}

/** Counts by labels. */
export interface Counter extends Family {
  /** Adds one. */
  count(labels: Labels): void;
}

/** Counts values by labels and upper bounds. */
export interface Histogram extends Family {
  /** Adds a value, in the unit of the bounds. */
  add(labels: Labels, value: number): void;
}

/** The content type of {@linkcode textOf}. */
export const TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const NO_LABELS: Labels = {};

/** Makes a family of one value, which is read when the text is made. */
export const newGauge = (
  name: string,
  help: string,
  read: () => number,
): Family => ({
  name,
  help,
  type: "gauge",
  samples: () => [[NO_LABELS, read()]],
});

/** Makes a counter that starts at zero; a combination of labels is shown from its first count on. */
export function newCounter(name: string, help: string): Counter {
  const counts = new Map<string, { readonly labels: Labels; value: number }>();
  return {
    name,
    help,
    type: "counter",
    count(labels) {
      keep(counts, labels, () => ({ labels, value: 0 })).value++;
    },
    samples: () => counts.values().map(({ labels, value }) => [labels, value]),
  };
}

/**
 * Makes a histogram.
 *
 * @param bounds upper bounds of its buckets, rising; one for all other values is added
 */
export function newHistogram(
  name: string,
  help: string,
  bounds: readonly number[],
): Histogram {
  const kept = new Map<
    string,
    { readonly labels: Labels; readonly buckets: number[]; sum: number }
  >();
  return {
    name,
    help,
    type: "histogram",
    add(labels, value) {
      const entry = keep(kept, labels, () => ({
        labels,
        buckets: new Array<number>(bounds.length + 1).fill(0),
        sum: 0,
      }));
      const bucket = bounds.findIndex((bound) => value <= bound);
      const index = bucket < 0 ? bounds.length : bucket;
      entry.buckets[index] = (entry.buckets[index] ?? 0) + 1;
      entry.sum += value;
    },
    *samples() {
      for (const { labels, buckets, sum } of kept.values()) {
        let count = 0;
        for (const [index, more] of buckets.entries()) {
          count += more;
          const le = numberText(bounds[index] ?? Infinity);
          yield [{ le, ...labels }, count, "_bucket"];
        }
        yield [labels, sum, "_sum"];
        yield [labels, count, "_count"];
      }
    },
  };
}

/** Writes families in the exposition format, each with its help and type. */
export function textOf(families: Iterable<Family>): string {
  const lines: string[] = [];
  for (const family of families) {
    const { name, help, type } = family;
    lines.push(`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`);
    for (const [labels, value, suffix = ""] of family.samples()) {
      lines.push(`${name}${suffix}${labelText(labels)} ${numberText(value)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

/** Returns the entry of these labels; makes it where there is none. */
function keep<T>(map: Map<string, T>, labels: Labels, make: () => T): T {
  const key = labelText(labels);
  let entry = map.get(key);
  if (entry === undefined) map.set(key, entry = make());
  return entry;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) =>
    `${name}="${escaped(value).replaceAll('"', '\\"')}"`
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escaped = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

const numberText = (value: number): string =>
  value === Infinity ? "+Inf" : value === -Infinity ? "-Inf" : String(value);
