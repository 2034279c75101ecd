import type {
  JwtSettings,
  SecuritySettings,
  TlsSettings,
} from "./security_flags.ts";
import { apiKeys, parseApiKeys } from "../auth/api_keys.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { jwt } from "../auth/jwt.ts";
import type { JwtKey } from "../auth/jwt_keys.ts";
import { type TlsOptions, toHttpsOptions } from "../http/listen.ts";
import { inFile, readText } from "./read_text.ts";

/** The contents of the files of the command line. */
export interface Security {
  /** Authenticators; none means no authentication. */
  readonly authenticators: readonly Authenticator[];
  /** Certificate and key; absent: HTTP. */
  readonly tls?: TlsOptions;
}

/**
 * Reads keys and certificates.
 *
 * @throws {TypeError} in one line for people, without anything of what the files hold
 */
export function loadSecurity(
  { apiKeys: keys, jwt, tls }: SecuritySettings,
): Security {
  const certificates = loadTls(tls);
  return {
    authenticators: [
      ...(keys === undefined ? [] : [loadApiKeys(keys)]),
      ...loadJwt(jwt),
    ],
    ...(certificates && { tls: certificates }),
  };
}

/** Reads the keys of `--api-keys`: JSON, or a file with it. */
function loadApiKeys(keys: string): Authenticator {
  const isJson = keys.trimStart().startsWith("[");
  const text = isJson ? keys : readText("--api-keys", keys);
  try {
    return apiKeys(parseApiKeys(text));
  } catch (error) {
    if (isJson || !(error instanceof TypeError)) throw error;
    throw inFile(keys, error);
  }
}

function loadJwt(
  { secret, keyFile, jwksUrl, ...options }: JwtSettings,
): Authenticator[] {
  const key: JwtKey | undefined = secret !== undefined
    ? { secret }
    : jwksUrl !== undefined
    ? { jwksUrl }
    : keyFile !== undefined
    ? { publicKey: readText("--jwt-key", keyFile) }
    : undefined;
  if (key === undefined) return [];
  try {
    return [jwt({ key, ...options })];
  } catch (error) {
    if (keyFile === undefined || !(error instanceof TypeError)) throw error;
    throw inFile(`--jwt-key ${keyFile}`, error);
  }
}

function loadTls(
  { certFile, keyFile, clientCaFile }: TlsSettings,
): TlsOptions | undefined {
  if (certFile === undefined || keyFile === undefined) return undefined;
  const tls: TlsOptions = {
    cert: readText("--tls-cert", certFile),
    key: readText("--tls-key", keyFile),
    ...(clientCaFile !== undefined && {
      clientCa: readText("--tls-client-ca", clientCaFile),
    }),
  };
  try {
    toHttpsOptions(tls); // checks them
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw inFile(`--tls-cert ${certFile}, --tls-key ${keyFile}`, error);
  }
  return tls;
}
