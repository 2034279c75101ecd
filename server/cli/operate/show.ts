import { columns } from "../../../cli/terminal_text.ts";
import {
  callsSchema,
  membersSchema,
  officesSchema,
} from "../../operator/schemas.ts";
import { endText } from "../../shared/audit.ts";
import { warnMissing } from "./missing_nodes.ts";
import { OperatorClient, type OperatorFlags } from "./operator_client.ts";

const MISSING = "what is there is missing here";

/** Flags of commands that show something. */
export interface ShowFlags extends OperatorFlags {
  /** Whether to print JSON. */
  readonly json?: true;
}

/** Prints the offices. */
export async function offices(flags: ShowFlags): Promise<void> {
  const { offices, node, ...missing } = await new OperatorClient(flags).get(
    "/offices",
    officesSchema,
  );
  warnMissing(missing, MISSING);
  const isCluster = node !== undefined;
  print(flags, offices, "nobody is in any office that you may see", [
    ["OFFICE", "AGENT", "COMPUTERS", "CALLS", ...(isCluster ? ["NODE"] : [])],
    ...offices.map((each) => [
      each.office,
      each.agent ?? "-",
      String(each.computers),
      String(each.pending_calls),
      ...(isCluster ? [each.node ?? "-"] : []),
    ]),
  ]);
}

/** Prints the members of an office. */
export async function members(office: string, flags: ShowFlags): Promise<void> {
  const { members, ...missing } = await new OperatorClient(flags).get(
    pathOf(office, "members"),
    membersSchema,
  );
  warnMissing(missing, MISSING);
  print(flags, members, "", [
    [
      ...["NAME", "ROLE", "VERSION", "SINCE", "CALLS", "RECEIVED", "SENT"],
      ...["ADDRESS", "LAST ERROR"],
    ],
    ...members.map((each) => [
      each.name,
      each.role,
      each.version,
      each.since ?? "-",
      each.calls === undefined
        ? "-"
        : `${each.calls} (${each.pending_calls ?? 0})`,
      bytesText(each.bytes?.received),
      bytesText(each.bytes?.sent),
      each.address ?? "-",
      each.last_error?.message ??
        (each.last_error ? endText(each.last_error) : "-"),
    ]),
  ]);
}

/** Prints the calls on their way in an office. */
export async function calls(office: string, flags: ShowFlags): Promise<void> {
  const { calls, ...missing } = await new OperatorClient(flags).get(
    pathOf(office, "calls"),
    callsSchema,
  );
  warnMissing(missing, MISSING);
  print(flags, calls, "no calls are on their way", [
    ["REQ_ID", "AGENT", "COMPUTER", "REQUEST", "SECONDS", "WAITS FOR"],
    ...calls.map((each) => [
      each.req_id,
      each.agent,
      each.computer,
      each.tool ?? each.request,
      (each.ms / 1000).toFixed(1),
      each.waiting ?? "-",
    ]),
  ]);
}

/** Returns the path of something of an office. */
export const pathOf = (office: string, what: string): string =>
  `/offices/${encodeURIComponent(office)}/${what}`;

/** @param empty the line for an empty list */
function print(
  { json }: ShowFlags,
  list: readonly unknown[],
  empty: string,
  rows: readonly (readonly string[])[],
): void {
  if (json) return console.log(JSON.stringify(list, null, 2));
  if (list.length === 0) return console.log(empty);
  columns(rows).forEach((line) => console.log(line));
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

function bytesText(bytes: number | undefined): string {
  if (bytes === undefined) return "-";
  let [value, unit] = [bytes, 0];
  for (; value >= 1024 && unit < UNITS.length - 1; unit++) value /= 1024;
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}
