import {
  type MCPServerPickStringInput,
  pickOptions,
} from "../../../protocol/mod.ts";

/** Thrown for a value of an input that is none of its options (0.4 §9). */
export class InvalidSelectionError extends Error {
  /** Always `"InvalidSelectionError"`. */
  override readonly name = "InvalidSelectionError";
  /** The input's id. */
  readonly id: string;
  /** The value; not in the message, since a secret may have been put into the wrong place. */
  readonly value: unknown;

  /** Creates an error whose message lists the options. */
  constructor(input: MCPServerPickStringInput, value: unknown) {
    const options = pickOptions(input).map(({ value }) => value);
    super(
      `the value of input "${input.id}" is not one of its options: ${
        options.join(", ")
      }`,
    );
    this.id = input.id;
    this.value = value;
  }
}
