import { plain } from "../../../cli/terminal_text.ts";
import { loadPackages } from "../../../shared/packages.ts";
import type { ElicitResult, ElicitValue } from "../../../protocol/mod.ts";
import type { ElicitRequest } from "../../tools/elicitations.ts";
import {
  type Field,
  problemOf,
  readFields,
  valueOf,
} from "../../tools/form.ts";
import { define } from "../../util/values.ts";
import { paint } from "../live/paint.ts";
import { Screen } from "../live/screen.ts";
import { askChoice } from "./ask_choice.ts";
import { sizeOf } from "./describe_call.ts";
import { describeQuestion, WILLING_CHOICES } from "./describe_question.ts";
import { ignoreKeys, type UntilKeysCount } from "./keyboard.ts";
import type { TerminalStreams } from "./streams.ts";

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
    const message = messageOf(field);
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

const messageOf = (field: Field): string => {
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
