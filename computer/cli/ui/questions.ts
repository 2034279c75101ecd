import { z } from "zod";
import {
  type ElicitResult,
  type ElicitValue,
  pickOptions,
} from "../../../protocol/mod.ts";
import { plain } from "../../../cli/terminal_text.ts";
import { invalidFields, ProblemError } from "../../../shared/http.ts";
import type { AskedInput } from "../../config/input_store.ts";
import type { ConfirmAnswer } from "../../tools/confirmations.ts";
import { type Field, problemOf, readFields } from "../../tools/form.ts";
import { define, isRecord } from "../../util/values.ts";
import {
  CHOICES,
  describeCall,
  describeQuestion,
  messageOf,
  WILLING_CHOICES,
} from "../question_text.ts";
import type { TerminalQuestions } from "../terminal_questions.ts";
import type { QuestionDesk, ReadAnswer } from "./question_desk.ts";

/** The page scrolls, so more fits than at a terminal; what is too long is cut in the same way. */
const PAGE_SIZE = { columns: 1_000, rows: 60 };
/** The longest form that a page gets, as JSON; the terminal asks longer ones. */
const MAX_FORM_CHARS = 100_000;

/**
 * Asks at a desk what is asked at the terminal, which goes on asking too.
 *
 * @param terminal empty without a terminal: only the page answers
 */
export const deskQuestions = (
  desk: QuestionDesk,
  terminal: Partial<TerminalQuestions>,
): TerminalQuestions => ({
  confirm: (request, signal) =>
    desk.ask<ConfirmAnswer>({
      view: () => ({
        text: describeCall(request, PAGE_SIZE),
        asking: {
          kind: "confirm",
          choices: CHOICES.map(({ answer, label }) => ({ answer, label })),
        },
      }),
      terminal: terminal.confirm &&
        (async (own) => await terminal.confirm?.(request, own) ?? "no"),
      read: (body) => {
        const { answer } = parse(CONFIRM, body);
        return { value: answer, said: labelOf(answer) };
      },
      say: labelOf,
      withdrawn: "no",
    }, signal),
  askInput: (input, signal) =>
    desk.ask<unknown>({
      view: () => ({ text: messageOf(input), asking: askingOf(input) }),
      terminal: terminal.askInput &&
        ((own) => terminal.askInput?.(input, own) ?? Promise.resolve()),
      read: (body) => readInput(input, body),
      say: inputSaid,
      withdrawn: undefined,
    }, signal),
  elicit: (request, signal) => {
    const fields = readFields(request.requestedSchema);
    return desk.ask<ElicitResult>({
      view: () => {
        const text = describeQuestion(request, fields, PAGE_SIZE);
        const shown = fields.map(shownField);
        const isTooLong = JSON.stringify(shown).length > MAX_FORM_CHARS;
        const choices = WILLING_CHOICES.filter(({ answer }) =>
          !isTooLong || answer !== "answer"
        );
        return {
          text: [...text, ...isTooLong ? [TOO_LONG] : []].join("\n"),
          asking: {
            kind: "elicit",
            choices: choices.map(({ answer, label }) => ({
              answer: answer === "answer" ? "accept" : answer,
              label,
            })),
            fields: isTooLong ? [] : shown,
          },
        };
      },
      terminal: terminal.elicit &&
        (async (own) =>
          await terminal.elicit?.(request, own) ?? { action: "cancel" }),
      read: (body) => readForm(fields, body),
      say: ({ action }) => FORM_SAID[action],
      withdrawn: { action: "cancel" },
    }, signal);
  },
});

const TOO_LONG = "  Its form is too long for a page; a terminal can ask it";

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

const labelOf = (answer: ConfirmAnswer): string =>
  CHOICES.find((choice) => choice.answer === answer)?.label ?? answer;

const inputSaid = (value: unknown): string =>
  value === undefined ? "No answer" : "Answered";

const FORM_SAID: Readonly<Record<ElicitResult["action"], string>> = {
  accept: "Answered",
  decline: "Declined",
  cancel: "Cancelled",
};

const CONFIRM = z.strictObject({ answer: z.enum(["once", "always", "no"]) });
const TYPED = z.strictObject({ value: z.string().nullable() });
const FORM = z.strictObject({
  action: z.enum(["accept", "decline", "cancel"]),
  content: z.unknown().optional(),
});

function askingOf(input: AskedInput) {
  const fallback = input.default ?? undefined;
  if (input.type === "pickString") {
    const options = pickOptions(input);
    const at = options.findIndex(({ value }) => value === fallback);
    return {
      kind: "input" as const,
      type: input.type,
      isSecret: false,
      options: options.map(({ label }) => plain(label)),
      ...(at >= 0 && { fallback: at }),
    };
  }
  const isSecret = input.password === true;
  return {
    kind: "input" as const,
    type: input.type,
    isSecret,
    options: [],
    ...(fallback !== undefined && !isSecret && { fallback: `${fallback}` }),
  };
}

/** Reads the value of an input; nothing typed is no answer, as at the terminal. */
function readInput(input: AskedInput, body: unknown): ReadAnswer<unknown> {
  let value: unknown;
  if (input.type === "pickString") {
    const options = pickOptions(input);
    const { option } = parse(
      z.strictObject({
        option: z.int().min(0).max(options.length - 1).nullable(),
      }),
      body,
    );
    value = option === null ? undefined : options[option]?.value;
  } else {
    const typed = parse(TYPED, body).value;
    value = typed === null || typed === "" ? undefined : typed;
  }
  return { value, said: inputSaid(value) };
}

function readForm(
  fields: readonly Field[],
  body: unknown,
): ReadAnswer<ElicitResult> {
  const { action, content = {} } = parse(FORM, body);
  const said = FORM_SAID[action];
  if (action !== "accept") return { value: { action }, said };
  const given = isRecord(content) ? content : {};
  const values: Record<string, ElicitValue> = {};
  const errors = fields.flatMap((field) => {
    const value = Object.hasOwn(given, field.name)
      ? given[field.name]
      : undefined;
    const problem = problemOf(field, value);
    if (problem !== undefined) {
      return [{ field: field.name, problem, fix: "correct it" }];
    }
    if (value !== undefined) define(values, field.name, value);
    return [];
  });
  for (const name of Object.keys(given)) {
    if (fields.some((field) => field.name === name)) continue;
    const problem = "the form has no such field";
    errors.push({ field: name, problem, fix: "leave it out" });
  }
  if (errors.length > 0) throw new ProblemError(400, errors);
  return { value: { action, content: values }, said };
}

/** @throws {ProblemError} 400 */
function parse<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw invalidFields(result.error, "body", "give one of the answers");
}
