import type { CallToolResult } from "../../protocol/mod.ts";
import { reasonOf } from "../util/values.ts";
import { log } from "../util/log.ts";
import { loadVrlCompiler } from "./vrl_compiler.ts";
import { runtimeErrorText } from "./vrl_text.ts";
import { vrlEvent, withTransformed } from "./vrl_event.ts";

/** The call that led to a result. */
export interface TransformedCall {
  /** The MCP server, for the log. */
  readonly server: string;
  /** The tool's original name. */
  readonly tool: string;
  /** The arguments of the call. */
  readonly parameters: Record<string, unknown>;
}

/**
 * Runs the VRL program of a server on a result (spec §7.9).
 *
 * A failure is logged and leaves the result unchanged; never rejects.
 */
export async function transformResult(
  result: CallToolResult,
  program: string | null | undefined,
  { server, tool, parameters }: TransformedCall,
): Promise<CallToolResult> {
  if (!program) return result;
  try {
    const compiler = await loadVrlCompiler();
    const event = compiler.run(program, vrlEvent(result, tool, parameters));
    return withTransformed(result, event);
  } catch (error) {
    log.warn(
      "The VRL program of MCP server {server} failed on a result of {tool}: {reason}",
      { server, tool, reason: runtimeErrorText(program, reasonOf(error)) },
    );
    return result;
  }
}
