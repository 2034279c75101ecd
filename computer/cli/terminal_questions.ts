import { plain } from "../../cli/terminal_text.ts";
import {
  askChoice,
  ignoreKeys,
  takeBack,
  type TerminalStreams,
  type UntilKeysCount,
  untilKeysCount,
} from "./ask_choice.ts";
import {
  CHOICES,
  describeCall,
  describeQuestion,
  messageOf,
  sizeOf,
  WILLING_CHOICES,
} from "./question_text.ts";
import { paint, Screen } from "./screen.ts";
import type { AskedInput, AskInput } from "../config/input_store.ts";
import type {
  Confirm,
  ConfirmAnswer,
  ConfirmRequest,
} from "../tools/confirmations.ts";
import type { Elicit, ElicitRequest } from "../tools/elicitations.ts";
import { type Field, problemOf, readFields, valueOf } from "../tools/form.ts";
import { define } from "../util/values.ts";
import {
  type ElicitResult,
  type ElicitValue,
  pickOptions,
} from "../../protocol/mod.ts";
import { loadPackages } from "../../shared/packages.ts";

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

/**
 * Asks what an MCP server wants to know: first whether to answer, with "decline" as the default, then
 * field by field. Esc and Ctrl-C cancel at any time.
 *
 * @param wait resolves when keys are accepted
 * @param signal withdraws the question
 */
export async function askForm(
  request: ElicitRequest,
  streams: TerminalStreams,
  wait: UntilKeysCount,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const fields = readFields(request.requestedSchema);
  const willing = await askChoice(
    {
      lines: describeQuestion(request, fields, sizeOf(streams.output)),
      choices: WILLING_CHOICES,
      first: "decline",
      keyHint: "y or n; or ↑ ↓ and Enter; Esc cancels",
    },
    streams,
    wait,
    signal,
  );
  if (willing === undefined) return { action: "cancel" };
  if (willing === "decline") return { action: "decline" };
  const content: Record<string, ElicitValue> = {};
  for (const field of fields) {
    const value = await askField(field, streams, wait, signal);
    if (value === CANCELLED) return { action: "cancel" };
    if (value !== undefined) define(content, field.name, value);
  }
  return { action: "accept", content };
}

const CANCELLED = Symbol("cancelled");

/** Asks for the value of a field, until it is valid or the person gives up. */
async function askField(
  field: Field,
  streams: TerminalStreams,
  wait: UntilKeysCount,
  signal: AbortSignal,
): Promise<ElicitValue | undefined | typeof CANCELLED> {
  for (;;) {
    const message = fieldMessage(field);
    const screen = new Screen(streams.output);
    const { columns } = screen;
    const line = paint([[message], [" …"]], { columns, colour: false });
    await ignoreKeys(streams.input, wait, signal, () => screen.draw([line]));
    screen.draw([]);
    if (signal.aborted) return CANCELLED;
    const value = await prompt(field, { ...streams, signal, message });
    // What a prompt cannot check itself is asked again: nothing chosen where something must be.
    if (value === CANCELLED || problemOf(field, value) === undefined) {
      return value;
    }
  }
}

const fieldMessage = (field: Field): string => {
  const { label, description, isRequired } = field;
  return [
    plain(label),
    ...(description === undefined ? [] : [`– ${plain(description)}`]),
    ...(isRequired ? [] : ["(optional)"]),
  ].join(" ");
};

interface PromptOptions extends TerminalStreams {
  readonly message: string;
  readonly signal: AbortSignal;
}

/** The choice of no value, where nothing is chosen from the start. */
const NO_ANSWER = { value: "", label: "(no answer)" };

async function prompt(
  field: Field,
  common: PromptOptions,
): Promise<ElicitValue | undefined | typeof CANCELLED> {
  const { isCancel, multiselect, password, select, text } = await loadPackages(
    "ask on the terminal",
    ["@clack/prompts"],
    () => import("@clack/prompts"),
  );
  switch (field.kind) {
    case "boolean":
    case "choice": {
      const offered = field.kind === "choice"
        ? field.options.map(({ label }) => plain(label))
        : ["Yes", "No"];
      const options = offered.map((label, i) => ({ value: `${i}`, label }));
      const at = field.kind === "boolean"
        ? field.default === undefined ? -1 : field.default ? 0 : 1
        : field.options.findIndex(({ value }) => value === field.default);
      const answer = await select({
        ...common,
        options: at < 0 || !field.isRequired
          ? [NO_ANSWER, ...options]
          : options,
        initialValue: at < 0 ? NO_ANSWER.value : `${at}`,
      });
      if (isCancel(answer)) return CANCELLED;
      if (answer === NO_ANSWER.value) return undefined;
      return field.kind === "boolean"
        ? answer === "0"
        : field.options[Number(answer)]?.value;
    }
    case "choices": {
      const answer = await multiselect({
        ...common,
        options: field.options.map(({ label }, i) => ({
          value: i,
          label: plain(label),
        })),
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
      const check = (typed: string | undefined) =>
        problemOf(field, valueOf(field, typed || fallback));
      const isSecret = field.kind === "text" && field.isSecret;
      const answer = isSecret
        ? await password({ ...common, validate: check })
        : await text({
          ...common,
          validate: check,
          ...(fallback !== "" &&
            { placeholder: plain(fallback), defaultValue: fallback }),
        });
      if (isCancel(answer)) return CANCELLED;
      return valueOf(field, answer || fallback);
    }
  }
}

/** Runs tasks one at a time, in order. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the work after all earlier work; its error reaches only the caller. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }
}
