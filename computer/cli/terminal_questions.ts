import { plain } from "../../cli/terminal_text.ts";
import {
  askChoice,
  ignoreKeys,
  takeBack,
  type Terminal,
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
import type { Confirm } from "../tools/confirmations.ts";
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
  const terminal = { ...streams, wait };
  const ask = <T>(
    signal: AbortSignal,
    none: T,
    question: () => Promise<T>,
  ): Promise<T> =>
    turns.take(async () => {
      const putBack = takeBack(streams.input); // lines that were pasted into the shell
      try {
        return signal.aborted ? none : await question();
      } finally {
        streams.input.setRawMode?.(false);
        putBack();
      }
    });
  return {
    askInput: (input, signal) =>
      ask(signal, undefined, () => askInput(input, terminal, signal)),
    confirm: (request, signal) =>
      ask(signal, "no", async () => {
        const lines = describeCall(request, sizeOf(streams.output)).split("\n");
        const keyHint = "y, a or n; or ↑ ↓ and Enter";
        const question = {
          lines,
          choices: CHOICES,
          first: "no",
          keyHint,
        } as const;
        return await askChoice(question, terminal, signal) ?? "no";
      }),
    elicit: (request, signal) =>
      ask(
        signal,
        { action: "cancel" },
        () => askForm(request, terminal, signal),
      ),
  };
}

/** Shows what is asked until keys are accepted; returns false when the question is withdrawn. */
async function announce(
  message: string,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<boolean> {
  const screen = new Screen(terminal.output);
  const { columns } = screen;
  const line = paint([[message], [" …"]], { columns, colour: false });
  await ignoreKeys(terminal, signal, () => screen.draw([line]));
  screen.draw([]);
  return !signal.aborted;
}

const loadPrompts = () =>
  loadPackages(
    "ask on the terminal",
    ["@clack/prompts"],
    () => import("@clack/prompts"),
  );

async function askInput(
  input: AskedInput,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<unknown> {
  const message = messageOf(input);
  if (!await announce(message, terminal, signal)) return undefined;
  const { isCancel, password, select, text } = await loadPrompts();
  const fallback = input.default ?? undefined;
  const common = { ...terminal, signal, message };
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
    answer = await text({ ...common, ...defaultText(fallback) });
  }
  return isCancel(answer) || answer === "" ? undefined : answer;
}

const defaultText = (value: string | undefined) =>
  value && { placeholder: plain(value), defaultValue: value };

/**
 * Asks what an MCP server wants to know: first whether to answer, with "decline" as the default, then
 * field by field. Esc and Ctrl-C cancel at any time.
 */
async function askForm(
  request: ElicitRequest,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const fields = readFields(request.requestedSchema);
  const willing = await askChoice(
    {
      lines: describeQuestion(request, fields, sizeOf(terminal.output)),
      choices: WILLING_CHOICES,
      first: "decline",
      keyHint: "y or n; or ↑ ↓ and Enter; Esc cancels",
    },
    terminal,
    signal,
  );
  if (willing === undefined) return { action: "cancel" };
  if (willing === "decline") return { action: "decline" };
  const content: Record<string, ElicitValue> = {};
  for (const field of fields) {
    const value = await askField(field, terminal, signal);
    if (value === CANCELLED) return { action: "cancel" };
    if (value !== undefined) define(content, field.name, value);
  }
  return { action: "accept", content };
}

const CANCELLED = Symbol("cancelled");
type FieldAnswer = ElicitValue | undefined | typeof CANCELLED;

/** Asks for the value of a field, until it is valid or the person gives up. */
async function askField(
  field: Field,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<FieldAnswer> {
  const { label, description, isRequired } = field;
  const message = [
    plain(label),
    ...(description === undefined ? [] : [`– ${plain(description)}`]),
    ...(isRequired ? [] : ["(optional)"]),
  ].join(" ");
  for (;;) {
    if (!await announce(message, terminal, signal)) return CANCELLED;
    const value = await prompt(field, { ...terminal, signal, message });
    // What a prompt cannot check itself is asked again: nothing chosen where something must be.
    if (value === CANCELLED || problemOf(field, value) === undefined) {
      return value;
    }
  }
}

/** The choice of no value, where nothing is chosen from the start. */
const NO_ANSWER = { value: "", label: "(no answer)" };
const YES_OR_NO = [
  { value: true, label: "Yes" },
  { value: false, label: "No" },
];

async function prompt(
  field: Field,
  common: Terminal & { readonly message: string; readonly signal: AbortSignal },
): Promise<FieldAnswer> {
  const { isCancel, multiselect, password, select, text } = await loadPrompts();
  switch (field.kind) {
    case "boolean":
    case "choice": {
      const offered = field.kind === "choice" ? field.options : YES_OR_NO;
      const options = offered.map(({ label }, i) => ({
        value: `${i}`,
        label: plain(label),
      }));
      const at = offered.findIndex(({ value }) => value === field.default);
      const answer = await select({
        ...common,
        options: at < 0 || !field.isRequired
          ? [NO_ANSWER, ...options]
          : options,
        initialValue: at < 0 ? NO_ANSWER.value : `${at}`,
      });
      if (isCancel(answer)) return CANCELLED;
      if (answer === NO_ANSWER.value) return undefined;
      return offered[Number(answer)]?.value;
    }
    case "choices": {
      const answer = await multiselect({
        ...common,
        options: field.options.map(({ label }, value) => ({
          value,
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
      const validate = (typed: string | undefined) =>
        problemOf(field, valueOf(field, typed || fallback));
      const options = { ...common, validate };
      const answer = field.kind === "text" && field.isSecret
        ? await password(options)
        : await text({ ...options, ...defaultText(fallback) });
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
