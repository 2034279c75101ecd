import type { CallToolResult, TOOL_CALL_EVENT } from "../../protocol/mod.ts";
import { limitResult } from "../answer_limits.ts";
import { runToolCall } from "../tool_call.ts";
import type { Handler } from "./handler.ts";

/** Runs a tool, once for each `req_id` (spec §7). */
export const toolCall: Handler<typeof TOOL_CALL_EVENT> = async (
  request,
  context,
) => {
  const { host, calls, recent, maxPayload, onCall } = context;
  const { agent, req_id, tool_name: tool } = request;
  const ended = onCall({ agent, req_id, tool });
  let result: CallToolResult | undefined;
  try {
    result = limitResult(
      await calls.run(request, (signal) => {
        const found = host.resolve(tool);
        if (found.kind === "call") recent.used(found.target.server.name);
        return runToolCall(request, context, signal);
      }),
      maxPayload,
    );
    return result;
  } finally {
    ended(result);
  }
};
