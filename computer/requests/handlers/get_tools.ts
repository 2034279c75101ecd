import type { GET_TOOLS_EVENT } from "../../../protocol/mod.ts";
import type { Handler } from "./handler.ts";

/** Lists the tools that can be called right now (spec §4, §7). */
export const getTools: Handler<typeof GET_TOOLS_EVENT> = (
  { req_id },
  { host },
) => ({ tools: host.tools(), req_id });
