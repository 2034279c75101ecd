/** A Server that serves MCP with a sign-in, and what programs and browsers do there over HTTP. */
import { signIn, type SignInOptions } from "@a2c-smcp/server/sign-in";
import {
  anyOf,
  type ApiKey,
  apiKeys,
  type Authenticator,
} from "../../../server/mod.ts";
import {
  GATEWAY_KEYS,
  type GatewaySetup,
  type ServedGateway,
  startGateway,
} from "../mcp/gateway.ts";
import { SignInVisitor, type TestTokens, type Visit } from "./sign_in.ts";

/** The keys of {@linkcode GATEWAY_KEYS}; ann may use every office. */
export const KEYS: readonly ApiKey[] = [
  { id: "ann", key: GATEWAY_KEYS.ann, roles: ["agent"] },
  { id: "bob", key: GATEWAY_KEYS.bob, roles: ["agent"], offices: ["no*"] },
  { id: "pc", key: GATEWAY_KEYS.computer, roles: ["computer"] },
  { id: "ops", key: "ops-key-0123456789", roles: ["operator"] },
];

/** How it is started. */
export interface SignedInSetup extends GatewaySetup {
  readonly signIn?: SignInOptions;
  /** Further authenticators. */
  readonly authenticators?: readonly Authenticator[];
}

/** A Server with a sign-in, and a Computer "pc" in its office "north". */
export class SignedInServer extends SignInVisitor implements AsyncDisposable {
  readonly gateway: ServedGateway;
  readonly #authenticators: Authenticator[];
  readonly #publicUrl: string | undefined;

  private constructor(
    gateway: ServedGateway,
    authenticators: Authenticator[],
    publicUrl: string | undefined,
  ) {
    super();
    this.gateway = gateway;
    this.#authenticators = authenticators;
    this.#publicUrl = publicUrl;
  }

  static async start(
    { signIn: options, authenticators = [], server, ...setup }: SignedInSetup =
      {},
  ): Promise<SignedInServer> {
    const keys = [apiKeys(KEYS), ...authenticators];
    const gateway = await startGateway({
      keys: true,
      ...setup,
      server: {
        authenticator: anyOf(keys),
        signIn: signIn(options),
        ...server,
      },
    });
    return new SignedInServer(gateway, keys, server?.publicUrl);
  }

  /** Where it listens. */
  get url(): string {
    return this.gateway.office.url;
  }

  override get issuer(): string {
    return this.#publicUrl ?? this.url;
  }

  override request(path: string, init?: RequestInit): Promise<Response> {
    return fetch(this.url + path, init);
  }

  /** Replaces the API keys, as a reload does. */
  async replaceKeys(keys: readonly ApiKey[]): Promise<void> {
    this.#authenticators[0] = apiKeys(keys);
    await this.gateway.office.server.recheckSessions();
  }

  /** Lets a program in with the key of ann, at the office "north" or the path of a resource. */
  async token(
    visit: Visit = {},
    path = "/mcp/north",
  ): Promise<TestTokens & { readonly as: { readonly authorization: string } }> {
    const tokens = await this.enter(
      { key: GATEWAY_KEYS.ann, ...visit },
      { resource: this.issuer + path },
    );
    return { ...tokens, as: bearer(tokens.access_token) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.gateway[Symbol.asyncDispose]();
  }
}

/** The header of a request with a token. */
export const bearer = (token: string): { readonly authorization: string } => ({
  authorization: `Bearer ${token}`,
});
