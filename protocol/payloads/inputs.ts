import * as z from "../validation.ts";

/** The common fields of inputs (protocol §4). */
export interface MCPServerInputBase {
  /** The ID in `${input:ID}`; unique among all inputs. */
  id: string;
  /** A description for people: the question, or of the value. */
  description: string;
}

/** A value that the user types (protocol §4). */
export interface MCPServerPromptStringInput extends MCPServerInputBase {
  /** The discriminator. */
  type: "promptString";
  /** The value to use without an answer. */
  default?: string | null;
  /** Whether to hide the typed text. */
  password?: boolean | null;
}

/** A value that the user picks (protocol §4). */
export interface MCPServerPickStringInput extends MCPServerInputBase {
  /** The discriminator. */
  type: "pickString";
  /** What to pick from: values as 0.2 has them, or values with a label of 0.3. */
  options: (string | PickStringOption)[];
  /** The value to use without an answer. */
  default?: string | null;
}

/** A value to pick, and what people see instead. */
export interface PickStringOption {
  /** For people. */
  label: string;
  /** What the placeholder stands for. */
  value: string;
}

/** A value that a command on the Computer prints (protocol §4). */
export interface MCPServerCommandInput extends MCPServerInputBase {
  /** The discriminator. */
  type: "command";
  /** A program if `args` is a list, otherwise a shell command. */
  command: string;
  /** A list of arguments, or a map of named ones. */
  args?: string[] | Record<string, string> | null;
}

/** The definition of a `${input:ID}` placeholder (protocol §4). */
export type MCPServerInput =
  | MCPServerPromptStringInput
  | MCPServerPickStringInput
  | MCPServerCommandInput;

/** Returns the options of an input in the form of 0.3; a value alone is its own label. */
export const pickOptions = (
  { options }: Pick<MCPServerPickStringInput, "options">,
): PickStringOption[] =>
  options.map((option) =>
    typeof option === "string" ? { label: option, value: option } : option
  );

const text = z.string().check(z.minLength(1));
const base = { id: z.identifier, description: z.string() };
const fallback = z.maybe(z.string());

/** @internal */
export const inputSchema = z.discriminatedUnion("type", [
  z.looseObject({
    ...base,
    type: z.literal("promptString"),
    default: fallback,
    password: z.maybe(z.boolean()),
  }),
  z.looseObject({
    ...base,
    type: z.literal("pickString"),
    options: z.listOf(
      z.union([z.string(), z.looseObject({ label: text, value: text })]),
    ),
    default: fallback,
  }),
  z.looseObject({
    ...base,
    type: z.literal("command"),
    command: z.string().check(z.minLength(1)),
    args: z.maybe(z.union([z.listOf(z.string()), z.mapOf(z.string())])),
  }),
]);
