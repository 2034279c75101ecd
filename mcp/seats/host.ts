import type { InProcessConnection } from "../../shared/in_process.ts";

/** Who makes a call, for the Server's audit log. */
export interface CallSource {
  /** Who it is authenticated as; absent without authentication. */
  readonly principal?: string;
  /** Name and version of the MCP client, as it says itself. */
  readonly client?: string;
}

/** What a Server gives the gateway in it; `GatewayHost` of `@a2c-smcp/sdk/server` is one. */
export interface SeatHost {
  /** What an Agent must stay below. */
  readonly limits: {
    readonly eventsPerSecond: number;
    readonly callsPerAgent: number;
  };
  /** The largest request, in bytes. */
  readonly maxMessageBytes: number;
  /** Connects an Agent within the process. */
  connect(): InProcessConnection;
  /** Finds the name of the Agent that sits in an office. */
  agentOf(office: string): Promise<string | undefined>;
  /** Names who makes a call; returns what forgets it again. */
  attribute(reqId: string, source: CallSource): () => void;
}
