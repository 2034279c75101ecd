/** The place of a value in a configuration: keys and indexes from the top. */
export type ConfigPath = readonly (string | number)[];

/** One problem of a configuration. */
export interface ConfigProblem {
  /** The place of the problem. */
  readonly path: readonly (string | number)[];
  /** What is wrong, and how to fix it. */
  readonly text: string;
}

/** Thrown for an invalid configuration; lists all of its problems. */
export class ConfigError extends Error {
  /** Always `"ConfigError"`. */
  override readonly name = "ConfigError";
  /** Every problem found. */
  readonly problems: readonly ConfigProblem[];

  /**
   * Creates an error whose message has one line per problem.
   *
   * @param source name of the file, or another origin of the configuration
   * @param lines returns the position of a problem, such as `12:5`, if known
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
