import type { ToolProgress } from "../../../../protocol/mod.ts";
import { readProgress } from "../tool.ts";

/** Those who follow the progress of calls at one MCP server, by its token. */
export class ProgressFollowers {
  readonly #followers = new Map<number, (progress: ToolProgress) => void>();
  #lastToken = 0;

  /** Makes a call with a token, and passes on its progress until it ends. */
  async during<T>(
    follower: (progress: ToolProgress) => void,
    call: (meta: { progressToken: number }) => Promise<T>,
  ): Promise<T> {
    const progressToken = ++this.#lastToken;
    this.#followers.set(progressToken, follower);
    try {
      return await call({ progressToken });
    } finally {
      this.#followers.delete(progressToken);
    }
  }

  /** Passes on a notification. */
  tell(params: Record<string, unknown>): void {
    const follower = this.#followers.get(Number(params.progressToken));
    const progress = readProgress(params);
    if (progress) follower?.(progress);
  }
}
