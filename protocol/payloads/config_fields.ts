/**
 * @internal
 *
 * The fields of a configuration, derived from its validators so that there is a single source of
 * truth. They serve to detect unknown fields.
 *
 * @module
 */
import type * as z from "../validation/schema.ts";
import {
  baseServerConfigSchema,
  mcpServerConfigSchema,
} from "./config_file.ts";
import { inputSchema } from "./inputs.ts";
import { toolMetaSchema } from "./tools.ts";

/** The fields of one kind of MCP server. */
export interface ServerFields {
  /** Beside `type`. */
  readonly own: readonly string[];
  /** In `server_parameters`. */
  readonly parameters: readonly string[];
}

/** Maps each value of `type` to its option of a union. */
const byType = <O extends z.ZodMiniObject>(
  options: readonly O[],
): [type: unknown, option: O][] =>
  options.flatMap((option) =>
    [...option._zod.propValues?.type ?? []].map((type): [unknown, O] => [
      type,
      option,
    ])
  );

/** By the `type` of an MCP server, including `http`. */
export const serverFields: ReadonlyMap<unknown, ServerFields> = new Map(
  byType(mcpServerConfigSchema._zod.def.options).map(([type, { shape }]) => [
    type,
    {
      own: Object.keys(shape),
      parameters: Object.keys(shape.server_parameters.shape),
    },
  ]),
);

/** The common fields of all kinds of MCP servers, except `type`. */
export const baseServerFields: readonly string[] = Object.keys(
  baseServerConfigSchema.shape,
);

/** By the `type` of an input. */
export const inputFields: ReadonlyMap<unknown, readonly string[]> = new Map(
  byType(inputSchema._zod.def.options).map(([type, { shape }]) => [
    type,
    Object.keys(shape),
  ]),
);

/** The known fields of `tool_meta` and `default_tool_meta`; later versions may add more. */
export const toolMetaFields: readonly string[] = Object.keys(
  toolMetaSchema.shape,
);
