/** The fields of a source map (revision 3) for the origin of text. */
export interface SourceMap {
  /** Paths of the files. */
  readonly sources: readonly string[];
  /** Segments of each line, as Base64 VLQ. */
  readonly mappings: string;
}

const DIGITS =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Counts the characters of a generated text by source; `""` is the bundler itself. */
export function charactersBySource(
  text: string,
  { sources, mappings }: SourceMap,
): Map<string, number> {
  const characters = new Map<string, number>();
  const count = (source: string, n: number) =>
    characters.set(source, (characters.get(source) ?? 0) + n);
  const lines = text.split("\n");
  let source = 0;
  for (const [i, segments] of mappings.split(";").entries()) {
    let column = 0;
    let owner = "";
    for (const segment of segments.split(",").filter((s) => s !== "")) {
      const [columns = 0, step] = decodeNumbers(segment);
      count(owner, columns);
      column += columns;
      source += step ?? 0;
      owner = step === undefined ? "" : sources[source] ?? "";
    }
    count(owner, (lines[i]?.length ?? 0) - column + 1); // with its line end
  }
  return characters;
}

/** Decodes the numbers of a segment: six bits per digit, the lowest first, the sign in the lowest bit. */
function decodeNumbers(segment: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value |= (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    value = 0;
    shift = 0;
  }
  return numbers;
}
