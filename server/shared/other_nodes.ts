/** The other nodes of a cluster, as those who operate this one ask them. */
export interface OtherNodes {
  /** The nodes that this one has met. */
  readonly nodes: ReadonlySet<string>;
  /**
   * Asks a node.
   *
   * @param question whatever has JSON
   * @returns `undefined` when it gives no answer, or none in time, or goes
   */
  ask(node: string, question: unknown, timeoutMs: number): Promise<unknown>;
  /**
   * Sets who answers the questions of other nodes, which have no answer until then.
   *
   * @param answer returns what has JSON; where it throws, the question has no answer
   */
  answerWith(answer: (question: unknown) => unknown): void;
}
