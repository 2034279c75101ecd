import { plainLines } from "../../../cli/terminal_text.ts";

/** Where a person sees how a Computer is doing. */
export interface View {
  /** Shows something that happened, as one or more lines. */
  note(text: string): void;
  /** Leaves the terminal to a question until that is answered. */
  asking<T>(question: () => Promise<T>): Promise<T>;
  /** Ends the view; what it noted stays. */
  close(): void;
}

/** Writes line by line, to wherever `print` does: a file, a pipe, a journal. */
export const plainView = (print: (text: string) => void): View => ({
  note: (text) => print(plainLines(text)),
  asking: (question) => question(),
  close: () => {},
});
