import type { CallToolResult, TOOL_CALL_EVENT } from "../../../protocol/mod.ts";
import { limitResult } from "../../tools/answer_limits.ts";
import { runToolCall } from "../../tools/run_tool.ts";
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
    const known = await calls.run(request, async (signal) => {
      const found = host.resolve(tool);
      if (found.kind === "call") recent.used(found.target.server.name);
      // Before it is stored: of one that can not be sent, that is what is to be said again.
      return limitResult(
        await runToolCall(request, context, signal),
        maxPayload,
      );
    });
    result = limitResult(known, maxPayload); // the Server may be another by now
    return result;
  } finally {
    ended(result);
  }
};
