/** An output stream of a process. */
export interface Output {
  on(event: "error", listener: (error: unknown) => void): unknown;
}

/** The codes of writing to a terminal or pipe that was closed, in Node and in Deno. */
const CLOSED: readonly unknown[] = ["EIO", "EPIPE"];

/** Checks whether an error only means that nobody reads the output any more. */
export const isClosedOutput = (error: unknown): boolean =>
  error instanceof Error && "code" in error && CLOSED.includes(error.code);

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

const PRINTING = ["debug", "error", "info", "log", "warn"] as const;

/** What prints lines. */
export type Printer = Record<
  typeof PRINTING[number],
  (...data: unknown[]) => void
>;

/**
 * Does the same for what is printed with a console: that of Deno throws when its terminal was closed, in
 * the middle of what the caller had to do.
 */
export function outliveConsole(printer: Printer): void {
  for (const method of PRINTING) {
    const print = printer[method];
    printer[method] = (...data) => {
      try {
        print.apply(printer, data);
      } catch (error) {
        if (!isClosedOutput(error)) throw error;
      }
    };
  }
}
