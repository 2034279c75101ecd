/**
 * What a Server gives its sign-in: who holds a key, and who is in an office. It is loaded with the sign-in.
 *
 * @module
 */
import { LIST_ROOM_EVENT, type ListRoomRet } from "../../protocol/mod.ts";
import { OPERATOR_AGENT } from "../../protocol/payloads/tools.ts";
import { hiddenPeer, type Offices } from "../office/peer.ts";
import { Payload } from "../shared/payload.ts";
import type { HostParts, SignInGateway, SignInHost } from "./sign_in.ts";

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
