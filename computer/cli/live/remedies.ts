import type { ServerFailure } from "../../host/server_status.ts";

/** Remedies for errors that do not name one. */
const REMEDIES: Readonly<Record<ServerFailure, string>> = {
  ended: "run its command by hand to see why",
  not_ready:
    "run its command by hand: does it wait for something, or is it no MCP server?",
  unreachable: "is it running, and is its url right?",
  refused: "give it an Authorization header, or sign in when the Computer runs",
  not_found: "correct the path of its url",
  not_executable: "make the program executable (chmod +x)",
};

/** Adds a remedy to the error of an MCP server, in one line unless it marks a place. */
export function withRemedy(
  error: string,
  failure: ServerFailure | undefined,
): string {
  if (/\n\s*\^/.test(error)) return error; // it marks a place with a caret
  const text = error.replaceAll(/\s*\n\s*/g, ": ");
  if (failure === undefined || text.includes(";")) return text; // it names a remedy already
  return `${text}; ${REMEDIES[failure]}`;
}
