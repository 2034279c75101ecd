/** A stream of a process that people read. */
export interface Output {
  on(event: "error", listener: (error: unknown) => void): unknown;
}

/** What writing to a closed terminal or pipe fails with, in Node and in Deno. */
const CLOSED = /\b(EIO|EPIPE)\b|Input\/output error|Broken pipe/;

/** Tells whether something failed only because nobody reads the output any more. */
export const isClosedOutput = (error: unknown): boolean =>
  error instanceof Error &&
  CLOSED.test(`${"code" in error ? error.code : ""} ${error.message}`);

/**
 * Lets a command live on, or come to its end, when its terminal or pipe is closed: to say
 * so would fail the same way, without end.
 */
export function outliveOutput(...outputs: readonly Output[]): void {
  for (const output of outputs) {
    output.on("error", (error) => {
      if (!isClosedOutput(error)) throw error;
    });
  }
}
