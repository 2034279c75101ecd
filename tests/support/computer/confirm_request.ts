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
    {
      id: "hour",
      text: "For an hour, 20 times, with the same arguments",
      covers: "equal calls for an hour",
    },
    {
      id: "always",
      text: "Always for this tool and this Agent",
      covers: "every call of it",
    },
    { id: "no", text: "No" },
    {
      id: "mute",
      text: "No, and nothing more of this Agent for 10 minutes",
      covers: "its calls are refused",
    },
  ],
  leftMs: 60_000,
  late: () => {},
  ...over,
});
