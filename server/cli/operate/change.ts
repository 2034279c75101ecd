import { plain } from "../../../cli/terminal_text.ts";
import { doneSchema, membersSchema } from "../../operator/schemas.ts";
import { OperatorClient, type OperatorFlags } from "./operator_client.ts";
import { pathOf } from "./show.ts";

/** Flags of commands that change something. */
export interface ChangeFlags extends OperatorFlags {
  /** What the member is told. */
  readonly reason: string;
}

/** Flags of `kick`. */
export interface KickFlags extends ChangeFlags {
  /** Tells an Agent and a Computer of one name apart. */
  readonly role?: "agent" | "computer";
  /** Seconds in which the seat stays closed. */
  readonly hold: number;
}

/**
 * Kicks a member.
 *
 * @throws {Error} when there is none of that name, or several
 */
export async function kick(
  office: string,
  name: string,
  flags: KickFlags,
): Promise<void> {
  const { reason, role, hold } = flags;
  const client = new OperatorClient(flags);
  const path = pathOf(office, "members");
  const { members } = await client.ask(path, membersSchema);
  const found = members.filter((each) =>
    each.name === name && (role ?? each.role) === each.role
  );
  const [member] = found;
  if (member === undefined) {
    throw new Error(
      `no such member is in ${plain(office)}: ${
        plain(name)
      }; the command "members" lists who is there`,
    );
  }
  if (found.length > 1) {
    throw new Error(
      `several members are called ${plain(name)}: ${
        found.map(({ role }) => `--role ${role}`).join(", or ")
      }`,
    );
  }
  await client.ask(
    `/members/${encodeURIComponent(member.id)}/kick`,
    doneSchema,
    { reason, hold_ms: hold * 1000 },
  );
  console.log(`kicked: ${plain(name)}`);
}

/**
 * Cancels a call.
 *
 * @throws {Error} when there is none with that id
 */
export async function cancel(
  office: string,
  req_id: string,
  flags: ChangeFlags,
): Promise<void> {
  const { reason } = flags;
  await new OperatorClient(flags).ask(
    pathOf(office, "calls/cancel"),
    doneSchema,
    { req_id, reason },
  );
  console.log(`cancelled: ${plain(req_id)}`);
}
