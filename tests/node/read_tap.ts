/** The outcome of a test in a TAP report. */
export interface TapResult {
  /** The test's name. */
  readonly name: string;
  /** Whether it passed. */
  readonly ok: boolean;
  /** Its part of the report, with the cause of a failure. */
  readonly text: string;
}

/** Reads the top-level tests of a TAP report. */
export function readTap(lines: readonly string[]): TapResult[] {
  const start = /^(not )?ok \d+ - (.*)\n/;
  return lines.join("\n").split(/^(?=(?:not )?ok \d)/m).flatMap((text) => {
    const [found, not, name] = start.exec(text) ?? [];
    return found === undefined || name === undefined
      ? []
      : [{ name, ok: not === undefined, text }];
  });
}
