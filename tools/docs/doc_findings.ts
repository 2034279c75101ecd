/** A finding of `deno doc --lint`. */
export interface Finding {
  /** The rule, such as `missing-jsdoc`. */
  readonly rule: string;
  /** The file of the finding, as printed. */
  readonly file: string;
  /** For `private-type-ref`: the line that declares the private type, without its file. */
  readonly referenced: { line: number; text: string } | undefined;
  /** The finding, as printed. */
  readonly text: string;
}

/** Splits the output of `deno doc --lint` (without colors) into findings. */
export function parseFindings(output: string): Finding[] {
  return output.split(/^(?=(?:error|warning)\b)/m).flatMap((text) => {
    const rule = /^error\[([\w-]+)\]/.exec(text)?.[1];
    const file = /^ *--> (.+):\d+:\d+$/m.exec(text)?.[1];
    if (rule === undefined || file === undefined) return [];
    return [{
      rule,
      file,
      referenced: referencedLine(text),
      text: text.trimEnd(),
    }];
  });
}

/** Returns the number of findings that the output states at its end. */
export function announced(output: string): number {
  const count = /Found (\d+) documentation lint error/.exec(output)?.[1];
  return Number(count ?? 0);
}

/**
 * Returns whether a finding is tolerated. The lint treats types of npm packages as private, because
 * it cannot document them. That is tolerated in the API of a role, but not of the wire.
 *
 * @param file the path from the repository's root
 * @param ours whether the private type is declared in this repository
 */
export function isTolerated(
  finding: Pick<Finding, "rule" | "referenced">,
  file: string,
  ours: boolean,
): boolean {
  return finding.rule === "private-type-ref" &&
    finding.referenced !== undefined &&
    !ours &&
    /^(server|agent|computer)[/\\]/.test(file);
}

/** Returns the source line that is marked as "the referenced type". */
function referencedLine(text: string): Finding["referenced"] {
  const found = /^ *(\d+) \| (.*)\n.*\bthis is the referenced type$/m
    .exec(text);
  if (found === null) return undefined;
  const [, line = "", source = ""] = found;
  return { line: Number(line), text: source };
}
