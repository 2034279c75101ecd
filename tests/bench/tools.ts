import { Field } from "./contestants/field.ts";
import { Generator } from "./generator.ts";
import { Messages } from "./messages.ts";

/** What every measurement needs. */
export interface Tools {
  readonly generator: Generator;
  readonly messages: Messages;
  readonly field: Field;
  /** Says how far it is. */
  tell(line: string): void;
}

/** Builds the tools, and leaves nothing of them behind. */
export async function withTools<T>(
  run: (tools: Tools) => Promise<T>,
): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "smcp-bench-" });
  const began = Date.now();
  try {
    return await run({
      generator: await Generator.build(folder),
      messages: new Messages(folder),
      field: new Field(folder),
      tell: (line) => console.error(`${sinceText(began)}  ${line}`),
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function sinceText(began: number): string {
  const seconds = Math.floor((Date.now() - began) / 1000);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${two(Math.floor(seconds / 60))}:${two(seconds % 60)}`;
}
