import type {
  ConfirmAnswer,
  ConfirmRequest,
} from "../../tools/confirmations.ts";
import { CHOICES } from "./answer_of.ts";
import { askChoice } from "./ask_choice.ts";
import { describeCall, sizeOf } from "./describe_call.ts";
import type { UntilKeysCount } from "./keyboard.ts";
import type { TerminalStreams } from "./streams.ts";

/**
 * Asks whether a tool may run; defaults to "no".
 *
 * @param untilKeysCount resolves when keys are accepted
 * @param signal withdraws the question
 */
export async function askConfirmation(
  request: ConfirmRequest,
  streams: TerminalStreams,
  untilKeysCount: UntilKeysCount,
  signal: AbortSignal,
): Promise<ConfirmAnswer> {
  const answer = await askChoice(
    {
      lines: describeCall(request, sizeOf(streams.output)).split("\n"),
      choices: CHOICES,
      first: "no",
      keyHint: "y, a or n; or ↑ ↓ and Enter",
    },
    streams,
    untilKeysCount,
    signal,
  );
  return answer ?? "no";
}
