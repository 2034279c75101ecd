import type { Readable, Writable } from "node:stream";
import { plain } from "../../protocol/cli/terminal_text.ts";
import type { Confirm, ConfirmAnswer, ConfirmRequest } from "../confirm.ts";
import type { AskedInput, AskInput } from "../inputs/input_store.ts";
import { describeCall, type Size } from "./describe_call.ts";
import { Turns } from "./turns.ts";

/** Where a person reads and types; both must be terminals. */
export interface TerminalStreams {
  /** What they type. */
  readonly input: Readable;
  /** What they read. */
  readonly output: Writable;
}

/** How large a terminal is; as most are where it does not say. */
const sizeOf = (output: Writable & Partial<Size>): Size => ({
  columns: output.columns ?? 80,
  rows: output.rows ?? 24,
});

/** A person at the terminal, who is asked one thing at a time. */
export interface TerminalQuestions {
  /** Asks for the value of an input; what is secret is not shown as it is typed. */
  readonly askInput: AskInput;
  /** Asks whether a tool may run. */
  readonly confirm: Confirm;
}

/**
 * Makes the questions of a terminal; the library that draws them is loaded with the first.
 *
 * A question whose signal is aborted disappears; Esc and Ctrl-C are "no answer", and "no".
 */
export function terminalQuestions(streams: TerminalStreams): TerminalQuestions {
  const turns = new Turns();
  return {
    askInput: (input, signal) =>
      turns.take(async () =>
        signal.aborted ? undefined : await askInput(input, streams, signal)
      ),
    confirm: (request, signal) =>
      turns.take(async () =>
        signal.aborted ? "no" : await askWord(request, streams, signal)
      ),
  };
}

async function askInput(
  input: AskedInput,
  streams: TerminalStreams,
  signal: AbortSignal,
): Promise<unknown> {
  const { isCancel, password, select, text } = await import("@clack/prompts");
  const fallback = input.default ?? undefined;
  const common = {
    ...streams,
    signal,
    message: `${plain(input.description || "Value")} (input "${
      plain(input.id)
    }")`,
  };
  let answer: unknown;
  if (input.type === "pickString") {
    if (input.options.length === 0) return undefined;
    answer = await select({
      ...common,
      options: input.options.map((value) => ({ value, label: plain(value) })),
      ...(fallback !== undefined && { initialValue: fallback }),
    });
  } else if (input.password) {
    answer = await password(common);
  } else {
    answer = await text({
      ...common,
      ...(fallback !== undefined &&
        { placeholder: plain(fallback), defaultValue: fallback }),
    });
  }
  return isCancel(answer) || answer === "" ? undefined : answer;
}

async function askWord(
  request: ConfirmRequest,
  streams: TerminalStreams,
  signal: AbortSignal,
): Promise<ConfirmAnswer> {
  const { isCancel, select } = await import("@clack/prompts");
  const options: { value: ConfirmAnswer; label: string }[] = [
    { value: "once", label: "Yes, this once" },
    { value: "always", label: "Always for this tool" },
    { value: "no", label: "No" },
  ];
  const answer = await select<ConfirmAnswer>({
    ...streams,
    signal,
    message: describeCall(request, sizeOf(streams.output)),
    options,
    initialValue: "no",
  });
  return isCancel(answer) ? "no" : answer;
}
