import { plainLines } from "../../../cli/terminal_text.ts";

/** Shows the user what a Computer does. */
export interface View {
  /** Prints one or more lines. */
  note(text: string): void;
  /** Hands the terminal over to a question until it is answered. */
  asking<T>(question: () => Promise<T>): Promise<T>;
  /** Ends the view; printed notes stay visible. */
  close(): void;
}

/** Creates a view that prints lines, for files, pipes and journals. */
export const plainView = (print: (text: string) => void): View => ({
  note: (text) => print(plainLines(text)),
  asking: (question) => question(),
  close: () => {},
});
