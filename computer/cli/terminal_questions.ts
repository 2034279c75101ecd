import { brief } from "../../cli/terminal_text.ts";
import {
  askChoice,
  type AskingTerminal,
  ignoreKeys,
  takeBack,
  type Terminal,
} from "./ask_choice.ts";
import {
  callChoices,
  type Choice,
  describeCall,
  describeForm,
  inputMessage,
  PAGE_CHOICES,
  WILLING_CHOICES,
} from "./question_text.ts";
import { paint, Screen, type View } from "./screen.ts";
import type { AskedInput } from "../config/input_store.ts";
import type { Confirmed, ConfirmRequest } from "../tools/confirm.ts";
import type { ElicitRequest } from "../tools/elicitations.ts";
import {
  checkField,
  type Field,
  parseTyped,
  readFields,
} from "../tools/form.ts";
import { define } from "../util/values.ts";
import {
  type ElicitResult,
  type ElicitValue,
  pickOptions,
} from "../../protocol/mod.ts";
import { queue } from "../../shared/async.ts";
import { loadPackages } from "../../shared/packages.ts";

/** Asks the user at the terminal, one question at a time. */
export interface TerminalQuestions {
  /** Asks for the value of an input; secrets are not echoed. */
  askInput(input: AskedInput, signal: AbortSignal): Promise<unknown>;
  /** Asks whether a tool may run. */
  confirm(request: ConfirmRequest, signal: AbortSignal): Promise<Confirmed>;
  /** Asks the question of an MCP server, field by field. */
  elicit(request: ElicitRequest, signal: AbortSignal): Promise<ElicitResult>;
}

/**
 * Creates the questions of a terminal; the prompt library is loaded with the first question for a
 * value.
 *
 * Keys typed before a question appears, and for half a second after, are ignored: they were meant for
 * something else. A question whose signal is aborted disappears. Esc and Ctrl-C mean "no answer" and
 * "no".
 *
 * @param asking hands the terminal over to one question at a time
 */
export function terminalQuestions(
  terminal: Terminal,
  asking: View["asking"],
): TerminalQuestions {
  const { input } = terminal;
  const ask = <T>(
    signal: AbortSignal,
    none: T,
    question: (terminal: AskingTerminal) => Promise<T>,
  ): Promise<T> =>
    inTurn(() =>
      asking(async () => {
        const putBack = takeBack(input); // lines that were pasted into the shell
        try {
          return signal.aborted
            ? none
            : await question({ ...terminal, signal });
        } finally {
          input.setRawMode?.(false);
          putBack();
        }
      })
    );
  return {
    askInput: (asked, signal) =>
      ask(signal, undefined, (terminal) => askInput(asked, terminal)),

    confirm: (request, signal) =>
      ask<Confirmed>(signal, { answer: "no" }, async (terminal) => {
        const choices = callChoices(request);
        const question = {
          text: describeCall(request),
          choices,
          first: "no",
          keyHint: `${keysText(choices)}; or ↑ ↓ and Enter`,
        } as const;
        const answer = await askChoice(question, terminal) ?? "no";
        return { answer, by: "at the terminal" };
      }),

    elicit: (request, signal) =>
      ask<ElicitResult>(
        signal,
        { action: "cancel" },
        (terminal) => askForm(request, terminal),
      ),
  };
}

/** Names the keys of the answers, such as "y, a or n". */
const keysText = (choices: readonly Choice[]): string =>
  choices.map(({ key }) => key).join(", ").replace(/, (.)$/, " or $1");

/** Asks after all earlier questions of the terminal, of which a process has one. */
const inTurn = queue();

/** The prompts of the library, and the options that all of them get. */
type Prompts = typeof import("@clack/prompts") & {
  readonly common: AskingTerminal & { readonly message: string };
};

/**
 * Shows what is asked until keys are accepted.
 *
 * @returns undefined when the question is withdrawn
 */
async function announce(
  message: string,
  terminal: AskingTerminal,
): Promise<Prompts | undefined> {
  const screen = new Screen(terminal.output);
  const { columns } = screen;
  const line = paint([[message], [" …"]], { columns, colour: false });
  await ignoreKeys(terminal, () => screen.draw([line]));
  screen.draw([]);
  if (terminal.signal.aborted) return undefined;
  const prompts = await loadPackages(
    "ask on the terminal",
    ["@clack/prompts"],
    () => import("@clack/prompts"),
  );
  return { ...prompts, common: { ...terminal, message } };
}

async function askInput(
  input: AskedInput,
  terminal: AskingTerminal,
): Promise<string | undefined> {
  const prompts = await announce(inputMessage(input), terminal);
  if (!prompts) return undefined;
  const { isCancel, password, select, text, common } = prompts;
  if (input.type === "pickString") {
    const options = pickOptions(input);
    if (options.length === 0) return undefined;
    const at = await select({
      ...common,
      ...numbered(options, input.default, common),
    });
    return isCancel(at) ? undefined : options[at]?.value || undefined;
  }
  const answer = input.password
    ? await password(common)
    : await text({ ...common, ...defaultText(input.default, common) });
  const fallback = input.password ? undefined : input.default;
  return isCancel(answer) ? undefined : answer || fallback || undefined;
}

/** The columns that a prompt needs beside a text of others, which must not go on in another line. */
const FRAME_COLUMNS = 8;

/** Returns the beginning of a text that was shown whole before, as one line of a prompt. */
const promptLine = (
  text: string,
  { output }: Pick<Terminal, "output">,
  taken = 0,
): string => {
  const room = new Screen(output).columns - FRAME_COLUMNS - taken;
  return brief(text, Math.max(1, room));
};

/** Returns the options of a selection by position, of which that with the value is chosen at first. */
const numbered = (
  options: readonly { readonly label: string; readonly value: unknown }[],
  chosen: unknown,
  terminal: Pick<Terminal, "output">,
) => ({
  options: options.map(({ label }, value) => ({
    value,
    label: promptLine(label, terminal),
  })),
  initialValue: options.findIndex(({ value }) => value === chosen),
});

/** Shows what Enter alone means; the prompt itself would print it as it is. */
const defaultText = (
  value: string | null | undefined,
  terminal: Pick<Terminal, "output">,
) => value && { placeholder: promptLine(value, terminal) };

/**
 * Asks the question of an MCP server: first whether to answer, with "decline" as the default, then
 * field by field. A page is opened by the person alone. Esc and Ctrl-C cancel at any time.
 */
async function askForm(
  request: ElicitRequest,
  terminal: AskingTerminal,
): Promise<ElicitResult> {
  const fields = readFields(request.requestedSchema);
  const willing = await askChoice(
    {
      text: describeForm(request, fields),
      choices: request.url === undefined ? WILLING_CHOICES : PAGE_CHOICES,
      first: "decline",
      keyHint: "y or n; or ↑ ↓ and Enter; Esc cancels",
    },
    terminal,
  );
  if (willing !== "accept") return { action: willing ?? "cancel" };
  const content: Record<string, ElicitValue> = {};
  for (const field of fields) {
    const value = await askField(field, terminal);
    if (value === CANCELLED) return { action: "cancel" };
    if (value !== undefined) define(content, field.name, value);
  }
  return { action: "accept", content };
}

const CANCELLED = Symbol("cancelled");
type FieldAnswer = ElicitValue | undefined | typeof CANCELLED;

/** Asks for the value of a field, until it is valid or cancelled. */
async function askField(
  field: Field,
  terminal: AskingTerminal,
): Promise<FieldAnswer> {
  const { label, description, isRequired } = field;
  const optional = isRequired ? "" : " (optional)";
  const about = description === undefined ? label : `${label} – ${description}`;
  const message = promptLine(about, terminal, optional.length) + optional;
  for (;;) {
    const prompts = await announce(message, terminal);
    const value = prompts ? await prompt(field, prompts) : CANCELLED;
    // What a prompt cannot check itself is asked again: nothing chosen where something must be.
    if (value === CANCELLED || checkField(field, value) === undefined) {
      return value;
    }
  }
}

/** The choice of no value, where nothing is chosen from the start. */
const NO_ANSWER = { value: -1, label: "(no answer)" };
const YES_OR_NO = [
  { value: true, label: "Yes" },
  { value: false, label: "No" },
];

async function prompt(
  field: Field,
  { isCancel, multiselect, password, select, text, common }: Prompts,
): Promise<FieldAnswer> {
  switch (field.kind) {
    case "boolean":
    case "choice": {
      const offered = field.kind === "choice" ? field.options : YES_OR_NO;
      const { options, initialValue } = numbered(
        offered,
        field.default,
        common,
      );
      if (initialValue < 0 || !field.isRequired) options.unshift(NO_ANSWER);
      const at = await select({ ...common, options, initialValue });
      return isCancel(at) ? CANCELLED : offered[at]?.value;
    }
    case "choices": {
      const { options } = numbered(field.options, undefined, common);
      const answer = await multiselect({
        ...common,
        options,
        initialValues: (field.default ?? []).map((value) =>
          field.options.findIndex((option) => option.value === value)
        ),
        required: false,
      });
      if (isCancel(answer)) return CANCELLED;
      const values = answer.flatMap((i) => field.options[i]?.value ?? []);
      return values.length === 0 && !field.isRequired ? undefined : values;
    }
    default: {
      const fallback = field.default === undefined ? "" : `${field.default}`;
      const validate = (typed: string | undefined) =>
        checkField(field, parseTyped(field, typed || fallback));
      const options = { ...common, validate };
      const answer = field.kind === "text" && field.isSecret
        ? await password(options)
        : await text({ ...options, ...defaultText(fallback, common) });
      if (isCancel(answer)) return CANCELLED;
      return parseTyped(field, answer || fallback);
    }
  }
}
