/**
 * What a Server gives its sign-in: who holds a key, and who is in an office.
 *
 * @module
 */
import { LIST_ROOM_EVENT, type ListRoomRet } from "../../protocol/mod.ts";
import { OPERATOR_AGENT } from "../../protocol/payloads/tools.ts";
import type { RequestParts } from "../http/gate.ts";
import { hiddenPeer, type Offices } from "../office/peer.ts";
import type { AuditEvent } from "../shared/audit.ts";
import { Payload } from "../shared/payload.ts";
import type { GatewaySeats } from "./gateway_seats.ts";
import type { Issuer } from "./issuer.ts";
import type { SignInHost } from "./sign_in.ts";

/** The parts of a server that {@linkcode newSignInHost} needs. */
export interface HostParts
  extends Pick<RequestParts, "authenticator" | "cluster" | "proxies"> {
  readonly issuer: Pick<Issuer, "url">;
  readonly offices: Offices;
  /** The seats of the gateway's Agents. */
  readonly seats: Pick<GatewaySeats, "holds"> | undefined;
  readonly audit: (event: AuditEvent) => void;
}

/** The gateway that a sign-in leads to. */
export interface SignInGateway {
  /** The path before the name of an office. */
  readonly path: string;
  /** The name of its Agents. */
  readonly agentName: string | undefined;
  /** Ends what was begun with credentials that are not valid any more. */
  recheck(): Promise<void>;
}

/** Makes what a Server gives its sign-in. */
export function newSignInHost(
  { path: gatewayPath, agentName, recheck }: SignInGateway,
  { issuer, proxies, authenticator, cluster, seats, ...parts }: HostParts,
): SignInHost {
  const find = authenticator?.find?.bind(authenticator);
  const store = cluster?.signInStore?.bind(cluster);
  return {
    gatewayPath,
    issuer: () => issuer.url,
    proxies,
    ...(authenticator && {
      authenticate: async (sent) => await authenticator.authenticate(sent),
    }),
    ...(find && { find: async (kept) => await find(kept) }),
    ...(store && { store }),
    async computersOf(office) {
      return (await membersOf(office, parts.offices))
        .flatMap(({ role, name }) => role === "computer" ? [name] : [])
        .sort();
    },
    async agentOf(office) {
      if (seats?.holds(office)) return undefined;
      const agent = (await membersOf(office, parts.offices))
        .find(({ role }) => role === "agent")?.name;
      // That of another node has the same name, and leaves when nothing needs it.
      return agent === agentName ? undefined : agent;
    },
    recheck,
    audit: parts.audit,
  };
}

/** In whose name the sign-in asks who is in an office. */
const VISITOR = "sign-in";

/** Returns the members of an office, whichever node of a cluster is its home. */
async function membersOf(
  office: string,
  offices: Offices,
): Promise<ListRoomRet["sessions"]> {
  const seat = await offices.join(hiddenPeer(VISITOR), {
    role: "operator",
    name: VISITOR,
    office,
  });
  if ("refused" in seat) return [];
  try {
    const asked = { agent: OPERATOR_AGENT, office_id: office, req_id: VISITOR };
    return await new Promise((resolve) =>
      seat.receive(LIST_ROOM_EVENT, Payload.of(asked), (answer) => {
        const list = answer instanceof Payload ? answer.parse() : undefined;
        resolve(Object(list).sessions ?? []);
      })
    );
  } finally {
    seat.gone();
  }
}
