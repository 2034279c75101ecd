import { isDeepStrictEqual } from "node:util";
import {
  type MCPServerInput,
  type MCPServerPickStringInput,
  pickOptions,
} from "../../protocol/mod.ts";
import { withTimeout } from "../../shared/async.ts";
import { reasonOf } from "../util/values.ts";
import { parseComputerConfig } from "./parse_config.ts";
import { ConfigError } from "./problem.ts";
import { commandLine, commandOutput } from "./command_input.ts";
import {
  inputVariables,
  notDefined,
  noValue,
  placeholderIds,
} from "../util/inputs.ts";
import { sharedVariables } from "../util/input_problems.ts";
import { REDACTED } from "../util/secrets.ts";
import {
  fillPlaceholders,
  resolveAll,
  TransientInputError,
} from "./fill_inputs.ts";

/** An input whose value a user can be asked for. */
export type AskedInput = Exclude<MCPServerInput, { type: "command" }>;

/**
 * Asks the user for the value of an input (protocol §4).
 *
 * @param signal withdraws the question
 * @returns the value, of any JSON type; undefined without an answer
 */
export type AskInput = (
  input: AskedInput,
  signal: AbortSignal,
) => Promise<unknown>;

/** The sources of values in order of precedence; the `default` of an input comes last. */
export interface InputSources {
  /** Values by id. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Environment variables such as `SMCP_INPUT_TOKEN`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Asks the user. */
  readonly ask?: AskInput | undefined;
}

/** Limit for the command of an input. */
const COMMAND_TIMEOUT_MS = 30_000;

/** The inputs of a Computer; only its MCP servers get their values. */
export interface ComputerInputs {
  /** The definitions in order, without values. */
  readonly definitions: MCPServerInput[];
  /**
   * Adds a definition, or replaces the one with the same id; if they differ, the value is forgotten.
   *
   * @throws {ConfigError} that lists every problem
   */
  put(input: MCPServerInput): void;
  /** Removes a definition and its value. */
  remove(id: string): void;
  /**
   * Sets a value; MCP servers get it when they next start.
   *
   * @throws {InvalidSelectionError} when the value is not one of its options
   * @throws {Error} when the input is not defined
   */
  setValue(id: string, value: unknown): void;
  /** Forgets one value, or all; they are resolved again when they are next needed. */
  forgetValues(id?: string): void;
  /** Lists the values resolved so far, in the order of the definitions. */
  values(): Promise<InputValue[]>;
}

/** The value of an input, as far as it may be shown. */
export interface InputValue {
  /** The input's id. */
  readonly id: string;
  /** Whether the value is resolved. */
  readonly known: boolean;
  /** The value, unless the input is secret. */
  readonly value?: unknown;
}

/**
 * Holds the inputs of a configuration and resolves each value once, when it is first needed.
 *
 * Values are passed only to the MCP servers that use them.
 */
export class InputStore implements ComputerInputs {
  readonly #sources: InputSources;
  readonly #definitions = new Map<string, MCPServerInput>();
  readonly #values = new Map<string, Promise<unknown>>();
  /** The resolved texts of secret inputs. */
  readonly #secrets = new Set<string>();
  /** Those of others by input, hidden unless Agents see the input. */
  readonly #others = new Map<string, Set<string>>();
  readonly #shown = new Set<string>();
  readonly #closed = new AbortController();
  readonly #onChange: () => void;

  /**
   * Creates a store without resolved values.
   *
   * @param onChange is called when `put`, `remove` or `replace` changed a definition
   */
  constructor(
    definitions: readonly MCPServerInput[] = [],
    sources: InputSources = {},
    onChange: () => void = () => {},
  ) {
    this.#sources = sources;
    this.#onChange = onChange;
    for (const input of definitions) this.#definitions.set(input.id, input);
  }

  get definitions(): MCPServerInput[] {
    return [...this.#definitions.values()];
  }

  /** Texts to hide: resolved values that are secret, and others unless they are shown. */
  get secrets(): ReadonlySet<string> {
    if (this.#others.size === 0) return this.#secrets;
    const hidden = [...this.#others].filter(([id]) => !this.#shown.has(id));
    return new Set([
      ...this.#secrets,
      ...hidden.flatMap(([, texts]) => [...texts]),
    ]);
  }

  put(input: MCPServerInput): void {
    const read = parseComputerConfig({ servers: {}, inputs: [input] }, "input");
    const after = new Map(this.#definitions);
    for (const input of read.inputs) after.set(input.id, input);
    const definitions = [...after.values()];
    const problems = sharedVariables(definitions);
    if (problems.length > 0) throw new ConfigError("input", problems);
    this.replace(definitions);
  }

  remove(id: string): void {
    this.replace(this.definitions.filter((input) => input.id !== id));
  }

  /** Replaces all definitions; values whose definition is unchanged are kept. */
  replace(definitions: readonly MCPServerInput[]): void {
    const before = new Map(this.#definitions);
    this.#definitions.clear();
    for (const input of definitions) this.#definitions.set(input.id, input);
    for (const [id, input] of before) {
      if (!isDeepStrictEqual(this.#definitions.get(id), input)) {
        this.#values.delete(id);
      }
    }
    if (!isDeepStrictEqual([...before.values()], definitions)) this.#onChange();
  }

  setValue(id: string, value: unknown): void {
    const input = this.#need(id);
    this.#values.set(id, Promise.resolve(this.#checked(input, value)));
  }

  forgetValues(id?: string): void {
    if (id === undefined) this.#values.clear();
    else this.#values.delete(id);
  }

  async values(): Promise<InputValue[]> {
    return await Promise.all(this.definitions.map(async (input) => {
      const { id } = input;
      const value = await this.#values.get(id)?.catch(() => undefined);
      return {
        id,
        known: value !== undefined,
        ...(value !== undefined && !isSecret(input) && { value }),
      };
    }));
  }

  /**
   * Replaces `${input:ID}` with the values that an MCP server would get; secrets stay hidden.
   *
   * Missing values are resolved, which may ask the user.
   *
   * @throws {Error} that names each input without a value
   */
  async render(value: unknown): Promise<unknown> {
    const values = await resolveAll(placeholderIds(value), this);
    for (const id of values.keys()) {
      const input = this.#definitions.get(id);
      if (input && isSecret(input)) values.set(id, REDACTED);
    }
    return fillPlaceholders(value, values);
  }

  /**
   * Resolves the value of an input; concurrent calls share one resolution.
   *
   * @throws {Error} that names the id: not defined, no value, not an option, or a failed command
   */
  value(id: string): Promise<unknown> {
    const known = this.#values.get(id);
    if (known) return known;
    const forget = () => {
      if (this.#values.get(id) === value) this.#values.delete(id);
    };
    const value: Promise<unknown> = this.#resolve(id, forget)
      .catch((error) => {
        forget();
        throw error;
      });
    this.#values.set(id, value);
    return value;
  }

  /** Returns whether Agents may see the value; if so, output shows it from now on. */
  show(id: string): boolean {
    const input = this.#definitions.get(id);
    if (input && isSecret(input)) return false;
    this.#shown.add(id);
    return true;
  }

  /** Withdraws questions and ends commands. */
  close(): void {
    this.#closed.abort(new Error("the Computer is closed"));
  }

  /** @param forget called when the value was not chosen by a user, so that it is resolved again */
  async #resolve(id: string, forget: () => void): Promise<unknown> {
    const input = this.#need(id);
    const found = await this.#find(input);
    if (found !== undefined || input.type !== "pickString") {
      return this.#checked(input, found);
    }
    if (!this.#sources.ask) forget();
    const [first] = pickOptions(input);
    return this.#checked(input, input.default ?? first?.value);
  }

  async #find(input: MCPServerInput): Promise<unknown> {
    const { id } = input;
    const { values, environment, ask } = this.#sources;
    if (values && Object.hasOwn(values, id)) return values[id];
    const set = inputVariables(id).map((name) => environment?.[name])
      .find((value) => value !== undefined);
    if (set !== undefined) return set;
    if (input.type === "command") {
      const { signal } = this.#closed;
      return await withTimeout(
        COMMAND_TIMEOUT_MS,
        (timeout) =>
          commandOutput(commandLine(input), AbortSignal.any([timeout, signal])),
      )
        .catch((error) => {
          throw new TransientInputError(
            `the command of input "${id}" failed: ${reasonOf(error)}`,
          );
        });
    }
    const answer = await ask?.(input, this.#closed.signal);
    const fallback = input.type === "pickString" ? undefined : input.default;
    return answer ?? fallback ?? undefined;
  }

  #checked(input: MCPServerInput, value: unknown): unknown {
    if (value === undefined) throw new Error(noValue(input.id));
    if (input.type === "pickString") {
      const options = pickOptions(input).map((option) => option.value);
      if (options.length > 0 && !options.some((option) => option === value)) {
        throw new InvalidSelectionError(input, value);
      }
    }
    const others = this.#others.get(input.id) ?? new Set();
    this.#others.set(input.id, others);
    const texts = isSecret(input) ? this.#secrets : others;
    for (const text of textsIn(value)) texts.add(text);
    return value;
  }

  #need(id: string): MCPServerInput {
    const input = this.#definitions.get(id);
    if (input) return input;
    throw new Error(notDefined(id));
  }
}

const isSecret = (input: MCPServerInput): boolean =>
  input.type === "command" ||
  input.type === "promptString" && input.password === true;

/** Lists a value as it is written in a configuration, and each text within it. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [`${value}`];
  return [JSON.stringify(value), ...Object.values(value).flatMap(textsIn)];
}

/** Thrown for a value of an input that is none of its options (protocol §4). */
export class InvalidSelectionError extends Error {
  /** Always `"InvalidSelectionError"`. */
  override readonly name = "InvalidSelectionError";
  /** The input's id. */
  readonly id: string;
  /** The value; not in the message, since a secret may have been put into the wrong place. */
  readonly value: unknown;

  /** Creates an error whose message lists the options. */
  constructor(input: MCPServerPickStringInput, value: unknown) {
    const { id } = input;
    const options = pickOptions(input).map(({ value }) => value).join(", ");
    super(`the value of input "${id}" is not one of its options: ${options}`);
    this.id = input.id;
    this.value = value;
  }
}
