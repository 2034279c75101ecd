import type * as Mcp from "@modelcontextprotocol/server";
import { ownerOf } from "../caller.ts";
import { hasTasks, undeclared } from "./extension.ts";
import type { Task } from "./task.ts";
import type { TaskTable } from "./task_table.ts";
import { invalidParams } from "../tools/result.ts";
import * as z from "../../protocol/validation.ts";

const TASK = z.looseObject({ taskId: z.string() });

/** Makes a server answer `tasks/get`, `tasks/update` and `tasks/cancel`. */
export function answerTaskRequests(server: Mcp.Server, tasks: TaskTable): void {
  /** @throws {ProtocolError} the client has no such task, or does not declare the extension */
  const find = (id: string, context: Mcp.ServerContext): Task => {
    if (!hasTasks(context)) throw undeclared();
    const task = tasks.find(id, ownerOf(context.http?.authInfo));
    if (task) return task;
    throw invalidParams(
      "Task not found: its id is not one of yours, or its time is over",
      { taskId: id },
    );
  };
  server.setRequestHandler(
    "tasks/get",
    { params: TASK },
    ({ taskId }, context) => {
      const task = find(taskId, context);
      if (!task.isOpen) task.isFetched = true;
      return { ...task.describe() };
    },
  );
  server.setRequestHandler(
    "tasks/update",
    { params: TASK },
    ({ taskId }, context) => {
      // The MCP SDK takes the answers out of the params of any request.
      find(taskId, context).answer(context.mcpReq.inputResponses ?? {});
      return {};
    },
  );
  server.setRequestHandler(
    "tasks/cancel",
    { params: TASK },
    ({ taskId }, context) => {
      find(taskId, context).cancel("cancelled by its client");
      return {};
    },
  );
}
