import type { Socket } from "socket.io";
import type { QuestionParts } from "../doors/question.ts";
import type { LocalOffices } from "../office/offices.ts";
import type { ProtocolName } from "../../protocol/mod.ts";
import type { ClusterMember } from "../shared/cluster.ts";
import type { Policy } from "../shared/identity.ts";
import type { SmcpServerStats } from "../observe/metrics.ts";

/** Who looks at a Server and changes things. */
export interface Operator {
  /** Names it in the audit log. */
  readonly by: string;
  /** Which offices it sees. */
  readonly policy: Policy;
}

/** What operators see of a server. */
export interface OperatedServer {
  /** The versions that it lets in, oldest first. */
  readonly protocols: readonly ProtocolName[];
  /** The offices whose home is here. */
  readonly local: LocalOffices;
  /** The Socket.IO sessions by their ids. */
  readonly sessions: {
    readonly open: ReadonlyMap<string, { readonly socket: Socket }>;
  };
  /** What questions to Computers work with. */
  readonly questions: QuestionParts;
  /** The node that it is in a cluster. */
  readonly cluster: ClusterMember | undefined;
  /** Returns current counts. */
  stats(): SmcpServerStats;
}
