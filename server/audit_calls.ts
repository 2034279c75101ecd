import { TOOL_CALL_EVENT, type ToolCallReq } from "../protocol/mod.ts";
import { audit } from "./audit.ts";
import { outcomeOf } from "./call_outcome.ts";
import type { CallWatcher } from "./call_watcher.ts";
import { outlineOf, valueOf } from "./wire/json_text.ts";

/**
 * Writes each tool call to the audit log once it ended (spec §10).
 *
 * @param payloads whether parameters and results are written too
 */
export const auditCalls =
  (payloads: boolean): CallWatcher =>
  ({ event, agent, seat, computer, payload }) => {
    if (event !== TOOL_CALL_EVENT) return () => {};
    const { tool_name, req_id } = outlineOf(payload) as ToolCallReq; // checked by now
    const began = performance.now();
    return (answer) =>
      audit({
        event: "tool_call",
        office: seat.office,
        agent: seat.name,
        ...(agent.identity && { principal: agent.identity.principal }),
        computer,
        tool: tool_name,
        req_id,
        ms: Math.round(performance.now() - began),
        outcome: outcomeOf(answer),
        ...(payloads && {
          params: (valueOf(payload) as ToolCallReq).params,
          result: valueOf(answer),
        }),
      });
  };
