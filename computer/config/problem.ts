/** Where something stands in a file, as the keys on the way there. */
export type ConfigPath = readonly (string | number)[];

/** One mistake in a configuration. */
export interface ConfigProblem {
  /** Where. */
  readonly path: ConfigPath;
  /** What is wrong and how to put it right. */
  readonly text: string;
}

/** A configuration that cannot be used, with everything that is wrong with it. */
export class ConfigError extends Error {
  /** Always `"ConfigError"`. */
  override readonly name = "ConfigError";
  /** Every mistake found. */
  readonly problems: readonly ConfigProblem[];

  /**
   * Makes the error of all mistakes of one configuration, a line for each.
   *
   * @param source the file's name, or where else the configuration came from
   * @param lines where a problem is, such as `12:5`, if that is known
   */
  constructor(
    source: string,
    problems: readonly ConfigProblem[],
    lines: (problem: ConfigProblem) => string | undefined = () => undefined,
  ) {
    super(
      problems.map((problem) => {
        const place = [source, lines(problem)].filter(Boolean).join(":");
        const path = problem.path.join(".");
        return `${place}: ${path === "" ? "" : `${path}: `}${problem.text}`;
      }).join("\n"),
    );
    this.problems = problems;
  }
}
