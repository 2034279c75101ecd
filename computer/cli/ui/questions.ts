import { z } from "zod";
import {
  type ElicitResult,
  type ElicitValue,
  pickOptions,
} from "../../../protocol/mod.ts";
import { plain } from "../../../cli/terminal_text.ts";
import { invalidFields, ProblemError } from "../../../shared/http.ts";
import type { AskedInput } from "../../config/input_store.ts";
import type { ConfirmAnswer, Confirmed } from "../../tools/confirm.ts";
import { checkField, type Field, readFields } from "../../tools/form.ts";
import { isRecord } from "../../../protocol/names.ts";
import { define } from "../../util/values.ts";
import {
  callChoices,
  type Choice,
  describeCall,
  describeForm,
  inputMessage,
  offered,
  PAGE_CHOICES,
  type QuestionText,
  WILLING_CHOICES,
} from "../question_text.ts";
import type { TerminalQuestions } from "../terminal_questions.ts";
import type { Asking, PageChoice, PageQuestions } from "./page_questions.ts";

/**
 * Asks the questions of the terminal on the page as well.
 *
 * @param terminal absent without a terminal: only the page answers
 */
export const askOnPage = (
  page: PageQuestions,
  terminal: TerminalQuestions | undefined,
): TerminalQuestions => ({
  confirm: (request, signal) => {
    const text = describeCall(request);
    const choices = callChoices(request);
    return page.ask<Confirmed>({
      text,
      asking: { kind: "confirm", choices: shownChoices(choices, text) },
      terminal: terminal && ((own) => terminal.confirm(request, own)),
      read: (body) => readAnswer(choices, body),
      needsAll: ({ answer }) => needsAll(choices, answer),
      describe: ({ answer }) => answerLabel(choices, answer),
      withdrawn: { answer: "no" },
    }, signal);
  },
  askInput: (input, signal) => {
    const title = inputMessage(input);
    return page.ask<unknown>({
      text: { title, subject: title, facts: [] },
      asking: inputAsking(input),
      terminal: terminal && ((own) => terminal.askInput(input, own)),
      read: (body) => readInput(input, body),
      needsAll: () => false,
      describe: (value) => value === undefined ? "No answer" : "Answered",
      withdrawn: undefined,
    }, signal);
  },
  elicit: (request, signal) => {
    const fields = readFields(request.requestedSchema);
    const text = describeForm(request, fields);
    const { url } = request;
    const choices = url === undefined ? WILLING_CHOICES : PAGE_CHOICES;
    const isWhole = text.excess === undefined;
    return page.ask<ElicitResult>({
      text,
      asking: {
        kind: "elicit",
        choices: shownChoices(choices, text),
        fields: isWhole ? fields.map(shownField) : [],
        ...(url !== undefined && isWhole && { url: new URL(url).href }),
      },
      terminal: terminal && ((own) => terminal.elicit(request, own)),
      read: (body) => readForm(fields, body),
      needsAll: ({ action }) => needsAll(choices, action),
      describe: ({ action }) => FORM_OUTCOMES[action],
      withdrawn: { action: "cancel" },
    }, signal);
  },
});

/** Returns the buttons of a question, without those that cannot be chosen. */
const shownChoices = (
  choices: readonly Choice<string>[],
  { excess }: QuestionText,
): PageChoice[] =>
  offered(choices, excess === undefined)
    .map(({ answer, label, needsAll }) => ({ answer, label, needsAll }));

const needsAll = (choices: readonly Choice<string>[], chosen: string) =>
  choices.some(({ answer, needsAll }) => answer === chosen && needsAll);

/** Texts of an MCP server, without characters that reorder what follows them. */
const shownField = (field: Field): Field => ({
  ...field,
  label: plain(field.label),
  ...(field.description !== undefined &&
    { description: plain(field.description) }),
  ...("options" in field && {
    options: field.options.map(({ value, label }) => ({
      value,
      label: plain(label),
    })),
  }),
});

const answerLabel = (
  choices: readonly Choice[],
  answer: ConfirmAnswer,
): string =>
  choices.find((choice) => choice.answer === answer)?.label ?? answer;

const FORM_OUTCOMES: Readonly<Record<ElicitResult["action"], string>> = {
  accept: "Answered",
  decline: "Declined",
  cancel: "Cancelled",
};

/** Reads one of the answers that are offered. */
function readAnswer(choices: readonly Choice[], body: unknown): Confirmed {
  const answers = choices.map(({ answer }) => answer);
  const { answer } = parse(z.strictObject({ answer: z.enum(answers) }), body);
  return { answer, by: "on the page" };
}

const TYPED = z.strictObject({ value: z.string().nullable() });
const FORM = z.strictObject({
  action: z.enum(["accept", "decline", "cancel"]),
  content: z.unknown().optional(),
});

function inputAsking(input: AskedInput): Asking {
  const { type, default: value } = input;
  const options = type === "pickString" ? pickOptions(input) : [];
  const isSecret = type === "promptString" && input.password === true;
  const at = options.findIndex((option) => option.value === value);
  const fallback = type === "pickString"
    ? at < 0 ? undefined : at
    : isSecret
    ? undefined
    : value?.toString();
  return {
    kind: "input",
    type,
    isSecret,
    options: options.map(({ label }) => plain(label)),
    ...(fallback !== undefined && { fallback }),
  };
}

/** Reads the value of an input; nothing typed is no answer, as at the terminal. */
function readInput(input: AskedInput, body: unknown): string | undefined {
  if (input.type !== "pickString") return parse(TYPED, body).value || undefined;
  const options = pickOptions(input);
  const option = z.int().min(0).max(options.length - 1).nullable();
  const picked = parse(z.strictObject({ option }), body).option;
  return picked === null ? undefined : options[picked]?.value;
}

function readForm(fields: readonly Field[], body: unknown): ElicitResult {
  const { action, content = {} } = parse(FORM, body);
  if (action !== "accept") return { action };
  const given = isRecord(content) ? content : {};
  const values: Record<string, ElicitValue> = {};
  const errors = fields.flatMap((field) => {
    const { name } = field;
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    const problem = checkField(field, value);
    if (problem !== undefined) {
      return [{ field: name, problem, fix: "correct it" }];
    }
    if (value !== undefined) define(values, name, value);
    return [];
  });
  for (const name of Object.keys(given)) {
    if (fields.some((field) => field.name === name)) continue;
    const problem = "unknown field";
    errors.push({ field: name, problem, fix: "leave it out" });
  }
  if (errors.length > 0) throw new ProblemError(400, errors);
  return { action, content: values };
}

/** @throws {ProblemError} 400 */
function parse<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw invalidFields(result.error, "body", "give one of the answers");
}
