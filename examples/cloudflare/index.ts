import { mcpGateway } from "@a2c-smcp/sdk/mcp";
import {
  apiKeys,
  parseApiKeys,
  smcpWorker,
} from "@a2c-smcp/sdk/server/workers";
import { signIn } from "@a2c-smcp/sdk/server/workers/sign-in";

/** The secrets of the Worker. */
interface Env {
  /** The keys of Agents and Computers, as JSON. */
  readonly SMCP_KEYS: string;
  /** The token of those who operate it. */
  readonly SMCP_OPERATOR_TOKEN?: string;
  /** Its own URL, with which MCP clients can sign in. */
  readonly SMCP_PUBLIC_URL?: string;
  /** The secret of their tokens, such as of `openssl rand -hex 32`. */
  readonly SMCP_SIGN_IN_SECRET?: string;
}

const { worker, Front, Office } = smcpWorker((env: Env) => ({
  protocol: "all",
  authenticator: apiKeys(parseApiKeys(env.SMCP_KEYS)),
  gateway: mcpGateway(), // MCP at /mcp/OFFICE; leave it out for a smaller Worker
  ...(env.SMCP_OPERATOR_TOKEN !== undefined && {
    operator: { token: env.SMCP_OPERATOR_TOKEN },
  }),
  ...(env.SMCP_PUBLIC_URL !== undefined && {
    publicUrl: env.SMCP_PUBLIC_URL,
    signIn: signIn({ secret: env.SMCP_SIGN_IN_SECRET }),
  }),
}));

export { Front, Office, worker as default };
