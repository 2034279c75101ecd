import type { GET_PROMPTS_EVENT, Prompt } from "../../../protocol/mod.ts";
import type { McpHost } from "../../host/host.ts";
import type { WarnOnce } from "../../util/warn_once.ts";
import { isRecord, reasonOf } from "../../util/values.ts";
import { answerOf, DEFAULT_TIMEOUT_S } from "./asked_server.ts";
import type { Handler } from "./handler.ts";

/** What {@linkcode getPrompts} needs. */
export interface GetPromptsNeeds {
  /** The MCP servers. */
  readonly host: Pick<McpHost, "views" | "server">;
  /** Logs what is left out. */
  readonly warnOnce: WarnOnce;
}

/** Taken off the time for listing, so that one slow MCP server does not cost the prompts of all. */
const MARGIN_S = 1;

/** Lists the prompts of all running MCP servers that have some. */
export const getPrompts: Handler<
  typeof GET_PROMPTS_EVENT,
  GetPromptsNeeds
> = async (
  { timeout = DEFAULT_TIMEOUT_S, req_id },
  { host, warnOnce },
) => {
  const seconds = Math.max(1, timeout - MARGIN_S);
  const listed = host.views.map(async (view): Promise<Prompt[]> => {
    const { bundleId, address: name } = view;
    const connection = host.server(bundleId)?.connection;
    if (!connection?.capabilities.prompts) return [];
    try {
      const prompts = await answerOf(
        name,
        seconds,
        (signal) => connection.listPrompts({ signal }),
      );
      return prompts.flatMap((prompt) => readPrompt(prompt, name));
    } catch (error) {
      warnOnce.warn([
        `Cannot list the prompts of "${name}": ${reasonOf(error)}`,
      ]);
      return [];
    }
  });
  return { prompts: (await Promise.all(listed)).flat(), req_id };
};

/** Reads an entry of `prompts/list`; one without a name cannot be asked for, and is left out. */
function readPrompt(entry: unknown, mcpServer: string): Prompt[] {
  if (!isRecord(entry) || typeof entry.name !== "string") return [];
  return [{ ...entry, name: entry.name, mcp_server: mcpServer }];
}
