/** A rule as people see it, in the order in which they are applied. */
export interface ShownRule {
  /** Identifies it, as in `rules.0`, `forbidden_tools` or `auto_apply`. */
  readonly id: string;
  /** What it does with a call. */
  readonly then: "allow" | "ask" | "deny";
  /** The rule in words. */
  readonly text: string;
  /** Whether it asks about every call, whatever was allowed before. */
  readonly every?: boolean;
}
