import type { Child } from "../child.ts";
import { startMain } from "../command.ts";
import { OFFICE, type Office } from "../office.ts";

/** Options of {@linkcode runComputer}. */
export interface RunComputerOptions {
  /** Its name in the office; default "pc". */
  name?: string;
  /** Further flags of `smcp-computer run`. */
  flags?: readonly string[];
  /** Environment variables in addition to those of this process. */
  env?: Record<string, string>;
}

/**
 * Starts `smcp-computer run` in an office.
 *
 * @param file its configuration
 */
export const runComputer = (
  office: Pick<Office, "url">,
  file: string,
  { name = "pc", flags = [], env = {} }: RunComputerOptions = {},
): Child =>
  startMain("computer", [
    "run",
    ...["--url", office.url, "--office", OFFICE],
    ...["--name", name, "--config", file],
    ...flags,
  ], env);
