import type { ConfirmRequest } from "../../../computer/tools/confirm.ts";

/** Returns a question about a call of `write_file` that offers what a person at the Computer may choose. */
export const confirmRequest = (
  over: Partial<ConfirmRequest> = {},
): ConfirmRequest => ({
  agent: "planner",
  server: "files",
  tool: "write_file",
  name: over.tool ?? "write_file",
  params: {},
  definition: "definition",
  rule: { id: "default", text: "each other call is asked about" },
  every: false,
  rulesVersion: "rules",
  options: [
    { id: "once", text: "Yes, this once" },
    { id: "hour", text: "Yes, for an hour, 20 times" },
    { id: "always", text: "Always for this tool" },
    { id: "mute", text: "No, for 10 minutes to all it asks" },
    { id: "no", text: "No" },
  ],
  leftMs: 60_000,
  late: () => {},
  ...over,
});
