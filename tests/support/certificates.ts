import { generate } from "selfsigned";

/** A certificate and its private key, as PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

type Extensions = NonNullable<
  NonNullable<Parameters<typeof generate>[1]>["extensions"]
>;

/** Creates a certificate authority. */
export const newAuthority = (name: string): Promise<Certificate> =>
  make(name, [
    { name: "basicConstraints", cA: true, critical: true },
    { name: "keyUsage", keyCertSign: true, cRLSign: true },
  ]);

/**
 * Creates a certificate for a server on loopback, or for a client.
 *
 * @param flaws expired a minute ago; or valid for this host alone
 */
export function newCertificate(
  name: string,
  authority: Certificate,
  flaws: { readonly expired?: boolean; readonly host?: string } = {},
): Promise<Certificate> {
  const altNames = flaws.host === undefined
    ? [{ type: 2, value: "localhost" }, { type: 7, ip: "127.0.0.1" }] as const
    : [{ type: 2, value: flaws.host }] as const;
  return make(name, [
    { name: "basicConstraints", cA: false },
    { name: "keyUsage", digitalSignature: true },
    { name: "extKeyUsage", serverAuth: true, clientAuth: true },
    { name: "subjectAltName", altNames: [...altNames] },
  ], { ca: authority, expired: flaws.expired });
}

async function make(
  name: string,
  extensions: Extensions,
  { ca, expired }: { ca?: Certificate; expired?: boolean | undefined } = {},
): Promise<Certificate> {
  const { cert, private: key } = await generate(
    [{ name: "commonName", value: name }],
    {
      keyType: "ec",
      algorithm: "sha256",
      extensions,
      notBeforeDate: new Date(Date.now() - 3_600_000),
      ...(expired && { notAfterDate: new Date(Date.now() - 60_000) }),
      ...(ca && { ca }),
    },
  );
  return { cert, key };
}
