import { plain } from "../../../cli/terminal_text.ts";
import { loadPackages } from "../../../shared/packages.ts";
import { pickOptions } from "../../../protocol/mod.ts";
import type { Confirm } from "../../tools/confirmations.ts";
import type { AskedInput, AskInput } from "../../config/inputs/input_store.ts";
import { paint } from "../live/paint.ts";
import { Screen } from "../live/screen.ts";
import type { Elicit } from "../../tools/elicitations.ts";
import { askConfirmation } from "./ask_confirmation.ts";
import { askForm } from "./ask_form.ts";
import {
  ignoreKeys,
  takeBack,
  type UntilKeysCount,
  untilKeysCount,
} from "./keyboard.ts";
import type { TerminalStreams } from "./streams.ts";
import { Turns } from "./turns.ts";

/** Asks the user at the terminal, one question at a time. */
export interface TerminalQuestions {
  /** Asks for the value of an input; secrets are not echoed. */
  readonly askInput: AskInput;
  /** Asks whether a tool may run. */
  readonly confirm: Confirm;
  /** Asks what an MCP server wants to know, field by field. */
  readonly elicit: Elicit;
}

/**
 * Creates the questions of a terminal; the prompt library is loaded with the first question for a
 * value.
 *
 * Keys typed before a question appears, and for half a second after, are ignored: they were meant for
 * something else. A question whose signal is aborted disappears. Esc and Ctrl-C mean "no answer" and
 * "no".
 *
 * @param wait resolves when keys are accepted
 */
export function terminalQuestions(
  streams: TerminalStreams,
  wait: UntilKeysCount = untilKeysCount,
): TerminalQuestions {
  const turns = new Turns();
  /** Puts lines that were pasted into the shell back afterwards. */
  const ask = <T>(question: () => Promise<T>): Promise<T> =>
    turns.take(async () => {
      const putBack = takeBack(streams.input);
      return await question().finally(() => {
        streams.input.setRawMode?.(false);
        putBack();
      });
    });
  return {
    askInput: (input, signal) =>
      ask(async () => {
        if (signal.aborted) return undefined;
        const message = messageOf(input);
        const screen = new Screen(streams.output);
        const { columns } = screen;
        const line = paint([[message], [" …"]], { columns, colour: false });
        await ignoreKeys(
          streams.input,
          wait,
          signal,
          () => screen.draw([line]),
        );
        screen.draw([]);
        if (signal.aborted) return undefined;
        return await askInput(input, message, streams, signal);
      }),
    confirm: (request, signal) =>
      ask(async () =>
        signal.aborted
          ? "no"
          : await askConfirmation(request, streams, wait, signal)
      ),
    elicit: (request, signal) =>
      ask(async () =>
        signal.aborted
          ? { action: "cancel" }
          : await askForm(request, streams, wait, signal)
      ),
  };
}

/** Says what an input asks for. */
export const messageOf = ({ id, description }: AskedInput): string =>
  `${plain(description || "Value")} (input "${plain(id)}")`;

async function askInput(
  input: AskedInput,
  message: string,
  streams: TerminalStreams,
  signal: AbortSignal,
): Promise<unknown> {
  const { isCancel, password, select, text } = await loadPackages(
    "ask on the terminal",
    ["@clack/prompts"],
    () => import("@clack/prompts"),
  );
  const fallback = input.default ?? undefined;
  const common = { ...streams, signal, message };
  let answer: unknown;
  if (input.type === "pickString") {
    const options = pickOptions(input);
    if (options.length === 0) return undefined;
    answer = await select({
      ...common,
      options: options.map(({ label, value }) => ({
        value,
        label: plain(label),
      })),
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
