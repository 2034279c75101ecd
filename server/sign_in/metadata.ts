/**
 * What programs find out before they sign in: the resources, and the metadata of the issuer. All URLs
 * begin with the issuer, whatever the headers of a request say.
 *
 * @module
 */
import type { Hono } from "hono";
import { isOfficeName } from "../../protocol/names.ts";
import { METADATA_ROOT } from "../doors/gateway_admission.ts";
import type { SignInHost } from "../doors/sign_in.ts";
import type { SmcpEnv } from "../http/http_app.ts";
import { isEncoded } from "../shared/http.ts";
import { NO_STORE, OAuthFault } from "./oauth.ts";

/** The one scope. */
export const SCOPE = "office";

/** Names of the resources of a Server: its gateway, and each office there. */
export class Resources {
  readonly #host: SignInHost;

  constructor(host: SignInHost) {
    this.#host = host;
  }

  /**
   * The issuer.
   *
   * @throws {OAuthFault} before the Server listens
   */
  get issuer(): string {
    const issuer = this.#host.issuer();
    if (issuer !== undefined) return issuer;
    throw new OAuthFault("temporarily_unavailable", "the Server is starting");
  }

  /** Returns the path of a resource below the issuer; without an office, that of the gateway. */
  pathOf(office: string | undefined): string {
    const { gatewayPath } = this.#host;
    return office === undefined
      ? gatewayPath
      : `${gatewayPath}/${encodeURIComponent(office)}`;
  }

  /** Returns the URL of a resource. */
  urlOf(office: string | undefined): string {
    return this.issuer + this.pathOf(office);
  }

  /**
   * Returns the path of the resource that a program names, and its office. The text is compared, but for
   * the case of its host, a slash at its end and a query, which narrows an office.
   *
   * @throws {OAuthFault} for any other
   */
  find(resource: string): { readonly path: string; readonly office?: string } {
    const [bare = ""] = resource.split("?");
    const text = bare.replace(/\/$/, "")
      .replace(/^https?:\/\/[^/]+/i, (origin) => origin.toLowerCase());
    if (text === this.urlOf(undefined)) return { path: this.pathOf(undefined) };
    const start = `${this.urlOf(undefined)}/`;
    const name = text.startsWith(start) ? text.slice(start.length) : "";
    const office = isEncoded(name) ? decodeURIComponent(name) : "";
    if (isOfficeName(office) && text === this.urlOf(office)) {
      return { path: this.pathOf(office), office };
    }
    throw new OAuthFault(
      "invalid_target",
      `resource: expected ${this.urlOf(undefined)} or ${
        this.urlOf(undefined)
      }/OFFICE`,
    );
  }

  /** Makes the challenge of a 401. */
  challenge(office: string | undefined, hadCredentials: boolean): string {
    const metadata = this.issuer + METADATA_ROOT + this.pathOf(office);
    const parameters = [
      ...(hadCredentials ? ['error="invalid_token"'] : []),
      `resource_metadata="${metadata}"`,
      `scope="${SCOPE}"`,
    ];
    return `Bearer ${parameters.join(", ")}`;
  }
}

/** Makes the metadata of the issuer (RFC 8414). */
const describeIssuer = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  registration_endpoint: `${issuer}/register`,
  revocation_endpoint: `${issuer}/revoke`,
  scopes_supported: [SCOPE, "offline_access"],
  response_types_supported: ["code"],
  response_modes_supported: ["query"],
  grant_types_supported: ["authorization_code", "refresh_token"],
  // Claude takes documents as ids only where this is listed.
  token_endpoint_auth_methods_supported: ["none"],
  revocation_endpoint_auth_methods_supported: ["none"],
  code_challenge_methods_supported: ["S256"],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: true,
});

/** The same where some programs look for it alone; there are no ID tokens, and so no keys. */
const describeOpenId = (issuer: string) => ({
  ...describeIssuer(issuer),
  jwks_uri: `${issuer}/.well-known/jwks.json`,
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["RS256"],
});

/** Makes the metadata of a resource (RFC 9728). */
const describeResource = (
  resources: Resources,
  office: string | undefined,
) => ({
  resource: resources.urlOf(office),
  authorization_servers: [resources.issuer],
  scopes_supported: [SCOPE],
  bearer_methods_supported: ["header"],
  resource_name: office === undefined
    ? "A2C-SMCP: your offices"
    : `A2C-SMCP: ${office}`,
});

const WELL_KNOWN = "/.well-known";
const ISSUER_KINDS = [
  [`${WELL_KNOWN}/oauth-authorization-server`, describeIssuer],
  [`${WELL_KNOWN}/openid-configuration`, describeOpenId],
] as const;

/**
 * Adds the metadata, also where programs look that put the resource's path before or after it. With a
 * public URL that has a path, a proxy takes that off; only of the host's own `/.well-known` it cannot.
 */
export function mountMetadata(
  app: Hono<SmcpEnv>,
  resources: Resources,
  { gatewayPath, issuer }: SignInHost,
): void {
  const { pathname } = new URL(issuer() ?? "http://localhost");
  const fronts = [...new Set(["", pathname.replace(/\/$/, "")])];
  const office = "/:office";
  for (const [root, describe] of ISSUER_KINDS) {
    const places = fronts.flatMap((front) => [
      `${root}${front}`,
      `${root}${front}${gatewayPath}`,
      `${root}${front}${gatewayPath}${office}`,
    ]);
    places.push(
      `${gatewayPath}${root}`,
      `${gatewayPath}${office}${root}`,
    );
    for (const place of places) {
      app.get(place, (c) => c.json(describe(resources.issuer), 200, NO_STORE));
    }
  }
  app.get(
    `${WELL_KNOWN}/jwks.json`,
    (c) => c.json({ keys: [] }, 200, NO_STORE),
  );
  for (const front of fronts) {
    const root = `${METADATA_ROOT}${front}`;
    for (const place of [root, `${root}${gatewayPath}`]) {
      app.get(
        place,
        (c) => c.json(describeResource(resources, undefined), 200, NO_STORE),
      );
    }
    app.get(`${root}${gatewayPath}${office}`, (c) => {
      const name = c.req.param("office");
      return isOfficeName(name) && isEncoded(c.req.path)
        ? c.json(describeResource(resources, name), 200, NO_STORE)
        : c.notFound();
    });
  }
}
