/** Test files that share a realm. */
export interface TestGroup {
  /** Such as `e2e_computer_2`. */
  readonly name: string;
  readonly files: readonly string[];
}

/** Few, so that a realm that breaks takes few files with it, and that the processors are busy to the end. */
const FILES = 8;

/**
 * Groups test files by their folder, `tests/AREA/PART`, with at most eight files in each group. Groups of
 * unit tests come last: they wait for nothing, so that processors are busy until the end.
 *
 * @param files paths from the root with `/`, sorted
 */
export function groupTests(files: readonly string[]): TestGroup[] {
  const parts = Map.groupBy(
    files,
    (file) => file.split("/").slice(1, -1).slice(0, 2).join("_"),
  );
  const isUnit = (part: string) => Number(part.startsWith("unit"));
  const ordered = [...parts].toSorted(([a], [b]) => isUnit(a) - isUnit(b));
  return ordered.flatMap(([part, files]) =>
    Array.from({ length: Math.ceil(files.length / FILES) }, (_, at) => ({
      name: `${part}_${at + 1}`,
      files: files.slice(at * FILES, (at + 1) * FILES),
    }))
  );
}
