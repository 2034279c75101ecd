/** The extension by which a call becomes a task (SEP-2663), in `capabilities.extensions` of both sides. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** What a server and a client declare that support it. */
export const TASKS_CAPABILITY: Readonly<
  Record<typeof TASKS_EXTENSION, Record<string, never>>
> = { [TASKS_EXTENSION]: {} };
