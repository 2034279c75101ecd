/** Gauges of which the greatest of all objects counts: times, and what is one for all. */
const GREATEST = /^process_|_(?:seconds|up|nodes)$/;

/** The samples of one name. */
interface Summed {
  /** Its help and type. */
  readonly head: string[];
  readonly samples: Map<string, number>;
  readonly add: (a: number, b: number) => number;
}

/**
 * Adds up the metrics of several objects in the exposition format of Prometheus. Objects that are gone do
 * not count any more, so that counters may fall.
 */
export function sumMetrics(texts: readonly string[]): string {
  const families = new Map<string, Summed>();
  for (const text of texts) {
    let family: Summed | undefined;
    for (const line of text.split("\n").filter((line) => line !== "")) {
      const [, name] = /^# (?:HELP|TYPE) (\S+) /.exec(line) ?? [];
      if (name !== undefined) family = familyOf(families, name, line);
      else if (family) addSample(family, line);
    }
  }
  const lines = families.values().flatMap(({ head, samples }) => [
    ...head,
    ...samples.entries().map(([key, value]) => `${key} ${value}`),
  ]);
  return [...lines, ""].join("\n");
}

/** Returns the family of a line of help or type. */
function familyOf(
  families: Map<string, Summed>,
  name: string,
  line: string,
): Summed {
  const family: Summed = families.get(name) ?? {
    head: [],
    samples: new Map(),
    add: GREATEST.test(name) && !name.endsWith("_duration_seconds")
      ? Math.max
      : (a: number, b: number) => a + b,
  };
  families.set(name, family);
  if (!family.head.includes(line)) family.head.push(line);
  return family;
}

function addSample({ samples, add }: Summed, line: string): void {
  const end = line.lastIndexOf(" ");
  const key = line.slice(0, end);
  const value = Number(line.slice(end + 1));
  const former = samples.get(key);
  samples.set(key, former === undefined ? value : add(former, value));
}
