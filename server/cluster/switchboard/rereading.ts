import { coalesce } from "../../../shared/async.ts";
import { failure, log } from "../../shared/log.ts";

/**
 * Reads who sits in the offices anew, after messages of nodes may be missing: once for all nodes of
 * which it is heard at a time, and again with the next beat until it has worked.
 */
export class Rereading {
  readonly #nodes = new Set<string>();
  readonly #read: () => void;

  /**
   * @param reload reads all offices
   * @param done is called for each node, once that is done
   */
  constructor(reload: () => Promise<void>, done: (node: string) => void) {
    this.#read = coalesce(async () => {
      const nodes = [...this.#nodes];
      if (nodes.length === 0) return;
      try {
        await reload();
      } catch (error) {
        return log.warn(
          "Cannot read who sits in the offices, which may be out of date until the next beat",
          failure(error),
        );
      }
      for (const node of nodes) {
        this.#nodes.delete(node);
        done(node);
      }
    });
  }

  /** Messages of a node may be missing. */
  add(node: string): void {
    this.#nodes.add(node);
    this.#read();
  }

  /** Tries again what has failed. */
  retry(): void {
    if (this.#nodes.size > 0) this.#read();
  }

  /** Forgets what is to be read: nobody is here any more. */
  clear(): void {
    this.#nodes.clear();
  }
}
