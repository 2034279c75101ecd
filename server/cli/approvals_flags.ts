/**
 * The flags of approvals: their options, what they need beside them, and the approvals that they make.
 *
 * @module
 */
import { InvalidArgumentError, type Option } from "commander";
import { option as flag } from "../../cli/flags.ts";
import { UsageError } from "../../cli/run.ts";
import { readApprovalsHost } from "../http/host_rule.ts";
import type { SmcpServerOptions } from "../options.ts";

/** The values of the options. */
export interface ApprovalsFlags {
  readonly approvals?: boolean;
  readonly approvalsHost?: string;
}

/** Creates the options. */
export const approvalsOptions = (): Option[] => [
  flag(
    "--approvals",
    "let persons answer the questions of their Computers from paired devices, at /approve",
  ),
  flag(
    "--approvals-host <name>",
    "serve /approve under this host name alone, and nothing else there, such as approve.example.com",
  ).argParser(host),
];

function host(text: string): string {
  try {
    return readApprovalsHost(text.trim(), "the host name");
  } catch {
    throw new InvalidArgumentError(
      'Expected a host name for approvals alone, without scheme and port, such as "approve.example.com".',
    );
  }
}

/** @throws {UsageError} for flags that contradict each other, or do nothing */
export function checkApprovals(
  { approvals, approvalsHost, publicUrl }: ApprovalsFlags & {
    readonly publicUrl?: string;
  },
): void {
  if (approvalsHost === undefined) return;
  if (!approvals) {
    throw new UsageError("--approvals-host does nothing without --approvals");
  }
  if (URL.parse(publicUrl ?? "")?.hostname !== approvalsHost) return;
  throw new UsageError(
    `--approvals-host ${approvalsHost} is the host of --public-url, where nothing else would be served then: give approvals a name of their own`,
  );
}

/** Makes the approvals, if the flags ask for them; only then loads their code. */
export async function loadApprovals(
  { approvals: isOn, approvalsHost: host }: ApprovalsFlags,
): Promise<Pick<SmcpServerOptions, "approvals">> {
  if (!isOn) return {};
  const { approvals } = await import("../approvals/mod.ts");
  return { approvals: approvals(host === undefined ? {} : { host }) };
}
