/**
 * The texts of questions, at the terminal and on the page: the tool to run comes first, the caller last.
 *
 * Words of ours and texts of others do not mix: each text of others follows a name on lines of its own,
 * in quotes, and odd characters are named.
 *
 * @module
 */
import type { AskedInput } from "../config/input_store.ts";
import { plain, shorten, textWidth } from "../../cli/terminal_text.ts";
import {
  diffLines,
  leftOutText,
  nearChanges,
} from "../../shared/approvals/line_diff.ts";
import { nameText, quoted } from "../../shared/shown_text.ts";
import type {
  CallToConfirm,
  ConfirmAnswer,
  ConfirmRequest,
  FileNow,
} from "../tools/confirm.ts";
import type { ElicitRequest } from "../tools/elicitations.ts";
import type { Permission } from "../rules/permissions.ts";
import type { Field } from "../tools/form.ts";
import {
  cutText,
  describeArguments,
  describeExcess,
  type Fact,
  firstUnits,
  MAX_NAMES,
} from "./facts.ts";

/** The content of a question, in this order. */
export interface QuestionText {
  /** The question, in words of ours. */
  readonly title: string;
  /** Its subject, in one line that begins with words of ours. */
  readonly subject: string;
  /** The facts that it is about, or if there is an excess their beginning. */
  readonly facts: readonly Fact[];
  /** Why the call cannot be allowed, such as "more than 200 names". */
  readonly excess?: string;
}

/** An answer to choose. */
export interface Choice<A extends string = ConfirmAnswer> {
  /** The answer. */
  readonly answer: A;
  /** The key that chooses it. */
  readonly key: string;
  /** The text shown for it. */
  readonly label: string;
  /** Whether it counts only when everything was shown. */
  readonly needsAll: boolean;
}

/** The keys of the answers to the question whether a tool may run. */
const KEYS: Readonly<Record<ConfirmAnswer, string>> = {
  once: "y",
  hour: "h",
  always: "a",
  no: "n",
  mute: "m",
};

/** Returns the answers to the question whether a tool may run, from top to bottom. */
export const callChoices = (
  { options }: Pick<ConfirmRequest, "options">,
): readonly Choice[] =>
  options.map(({ id, text }) => ({
    answer: id,
    key: KEYS[id],
    label: text,
    needsAll: id !== "no" && id !== "mute",
  }));

/** Whether to answer a form, from top to bottom. */
export const WILLING_CHOICES: readonly Choice<"accept" | "decline">[] = [
  { answer: "accept", key: "y", label: "Answer", needsAll: true },
  { answer: "decline", key: "n", label: "Decline", needsAll: false },
];

/** Whether a page is opened, from top to bottom. */
export const PAGE_CHOICES: readonly Choice<"accept" | "decline">[] = [
  { answer: "accept", key: "y", label: "I have opened it", needsAll: true },
  { answer: "decline", key: "n", label: "Decline", needsAll: false },
];

/** Returns whether the reason for which a question is withdrawn is that it was answered, and where. */
export const isAnswered = (reason: unknown): reason is string =>
  typeof reason === "string" && /^(answered|allowed|refused) /.test(reason);

/** Returns the answers that are offered. */
export const offered = <A extends string>(
  choices: readonly Choice<A>[],
  isAllShown: boolean,
): readonly Choice<A>[] =>
  choices.filter(({ needsAll }) => isAllShown || !needsAll);

/** Describes the question whether a tool may run: tool, MCP server, arguments, and who asks (protocol §7). */
export function describeCall(request: ConfirmRequest): QuestionText {
  const { tool, name, server, bundleId, params } = request;
  const { facts, excess } = describeArguments(params);
  const none = facts.length === 0 ? "none" : "";
  const isChange = request.diff !== undefined && excess === undefined;
  return {
    title: "Run this tool?",
    subject: describeSubject(request),
    facts: [
      ours("Tool", quoted(tool)),
      ...name === tool ? [] : [ours("Called as", quoted(name))],
      ...serverFacts(server, bundleId),
      ours("Arguments", none),
      ...isChange ? withChange(facts, params, request.diff) : facts,
      ...request.rule.id === "default" ? [] : [
        ours("Asked because of", `${request.rule.id}: ${request.rule.text}`),
      ],
      ...request.options.flatMap(({ text, covers }) =>
        covers === undefined ? [] : [ours(text, covers)]
      ),
      ours("Asked by", callerPhrase(request)),
    ],
    ...(excess !== undefined && { excess: `the arguments are ${excess}` }),
  };
}

/** Shows of the argument with the content of a file what it changes there; of a new file, that it is new. */
function withChange(
  facts: readonly Fact[],
  params: ConfirmRequest["params"],
  { of, before }: FileNow,
): Fact[] {
  const after = params[of];
  const at = Object.keys(params).indexOf(of);
  const argument = facts.filter(({ depth }) => depth === 1)[at];
  if (argument === undefined || typeof after !== "string") return [...facts];
  if (before === undefined) {
    return [...facts, ours(`The file for ${argument.name}`, "is a new one")];
  }
  const lines = nearChanges(diffLines(before, after)).map((line) =>
    typeof line === "number"
      ? `  … ${leftOutText(line)}`
      : `${line[0]} ${quoted(line[1])}`
  );
  const text = ["what it changes in the file", ...lines].join("\n");
  const change = { ...argument, text, length: text.length };
  return facts.map((fact) => fact === argument ? change : fact);
}

/** Names the tool and its caller in one line. */
const describeSubject = (request: CallToConfirm): string =>
  `tool ${quoted(request.tool)} of MCP server ${
    quoted(request.server)
  }, asked by ${callerPhrase(request)}`;

/** Describes the question of an MCP server: the MCP server, its text, the fields or the page, and during which call. */
export function describeForm(
  { server, bundleId, agent, operator, tool, message, url }: ElicitRequest,
  fields: readonly Field[],
): QuestionText {
  const excess = fields.length > MAX_NAMES
    ? `more than ${MAX_NAMES} fields`
    : describeExcess([message, url ?? "", ...fields.flatMap(fieldTexts)]);
  const seen = excess === undefined
    ? message
    : firstUnits(message, MAX_EXCERPT);
  const call = agent === undefined || tool === undefined ? [] : [
    ours("For a call of", quoted(tool)),
    ours("Asked by", callerPhrase({ agent, operator })),
  ];
  return {
    title: url === undefined
      ? "Answer this MCP server?"
      : "Open this page for an MCP server?",
    subject: `question of MCP server ${quoted(server)}`,
    facts: [
      ...serverFacts(server, bundleId),
      { ...ours("Question", quoted(seen, true)), length: message.length },
      ...url === undefined || excess !== undefined ? [] : pageFacts(url),
      ...fields.length > 0 ? [ours("Fields", "")] : [],
      ...excess === undefined ? fields.map(fieldFact) : [],
      ...call,
    ],
    ...(excess !== undefined && { excess: `the question is ${excess}` }),
  };
}

/** The host by itself, as a long address can hide it; both without letters that look like others. */
function pageFacts(url: string): Fact[] {
  const { href, host, protocol } = new URL(url);
  const isPlain = protocol === "http:";
  return [
    ours("Host", quoted(host) + (isPlain ? ", not encrypted" : "")),
    ours("Page", quoted(href)),
  ];
}

/** How much is shown of a text that is too long to be answered. */
const MAX_EXCERPT = 1_000;

const ours = (name: string, text: string): Fact => ({
  name,
  depth: 0,
  text,
  length: text.length,
});

const serverFacts = (server: string, bundleId: string | undefined): Fact[] => [
  ours("MCP server", quoted(server)),
  ...bundleId === undefined ? [] : [ours("Its id", quoted(bundleId))],
];

/** The texts of a field that are its MCP server's. */
const fieldTexts = (field: Field): string[] => [
  field.name,
  field.label,
  field.description ?? "",
  ..."options" in field
    ? field.options.flatMap(({ value, label }) => [value, label])
    : [],
  ...field.default === undefined ? [] : [`${field.default}`],
];

const KINDS: Readonly<Record<Field["kind"], string>> = {
  text: "a text",
  number: "a number",
  boolean: "yes or no",
  choice: "one of",
  choices: "some of",
};

/** Returns the label of an option, and the value that is sent for it where that differs. */
const optionPhrase = ({ label, value }: {
  readonly label: string;
  readonly value: unknown;
}): string =>
  label === value ? quoted(label) : `${quoted(label)} = ${quoted(`${value}`)}`;

function fieldFact(field: Field): Fact {
  const { name, label, description, isRequired, kind } = field;
  const options = "options" in field
    ? ` ${field.options.map(optionPhrase).join(", ")}`
    : "";
  const { default: value } = field;
  const values = value === undefined || Array.isArray(value)
    ? value ?? []
    : [value];
  const text = [
    ...label === name ? [] : [quoted(label)],
    `${KINDS[kind]}${options}`,
    ...isRequired ? [] : ["optional"],
    ...description === undefined ? [] : [quoted(description)],
    ...values.length === 0
      ? []
      : [`Enter alone: ${values.map((each) => quoted(`${each}`)).join(", ")}`],
  ].join("; ");
  return { name: nameText(name), depth: 1, text, length: text.length };
}

/** The most columns of who asks, with the word before the name. */
const MAX_CALLER_COLUMNS = 40;
/** How much of a name is looked at, so that what it repeats is counted; names in an office are shorter. */
const MAX_CALLER = 1_024;

/** Names who asks; the name is in quotes, and a long one is cut. */
export function callerPhrase(
  { agent, operator }: {
    readonly agent: string;
    readonly operator?: string | undefined;
  },
): string {
  const word = operator === undefined ? "Agent" : "operator of the Server";
  const name = operator ?? agent;
  const first = firstUnits(name, MAX_CALLER);
  const inner = quoted(first).slice(1, -1) + (first === name ? "" : "…");
  const columns = MAX_CALLER_COLUMNS - textWidth(`${word} ""`);
  return `${word} "${shorten(inner, columns)}"`;
}

/** How many columns of a value are in a log, from its beginning and from its end. */
const LOGGED = { head: 48, tail: 16 };

/** Writes what a call is about as lines for a log: each argument by its name, long values cut. */
export function logLines(request: CallToConfirm): string[] {
  const { facts, excess } = describeArguments(request.params);
  const lines = facts.map((fact) => {
    const indent = "  ".repeat(Math.min(Math.max(fact.depth, 1), 8));
    return `${indent}${shortFact(fact, ": ")}`;
  });
  const note = excess === undefined
    ? []
    : [`  only the beginning: the arguments are ${excess}`];
  return [describeSubject(request), ...note, ...lines];
}

/** Writes a fact in one line, a long text cut. */
function shortFact({ name, text, length }: Fact, between: string): string {
  if (text === "") return name;
  const line = text.replaceAll("\n", " ");
  const cut = cutText(line, LOGGED.head, LOGGED.tail);
  const value = cut
    ? `${cut.head} … (${length} characters) … ${cut.tail}`
    : line;
  return `${name}${between}${value}`;
}

/** How many arguments of a permission are shown. */
const MAX_LISTED = 8;

/** Describes what a permission covers, with the arguments that a call must have. */
export function permissionText(
  { covers, fixed }: Pick<Permission, "covers" | "fixed">,
): string {
  if (fixed === undefined) return covers;
  const { facts } = describeArguments(fixed);
  const shown = facts.slice(0, MAX_LISTED).map((fact) =>
    shortFact(fact, " = ")
  );
  const more = facts.length - shown.length;
  if (more > 0) shown.push(`… and ${more} more`);
  const list = shown.length === 0 ? "none" : shown.join(", ");
  return `${covers.replace(/\.$/, "")}: ${list}.`;
}

/** Describes the input that is asked for; one without an id is a question of ours. */
export const inputMessage = ({ id, description }: AskedInput): string =>
  plain(description || "Value") + (id === "" ? "" : ` (input "${plain(id)}")`);
