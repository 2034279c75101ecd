import { generate } from "selfsigned";

/** A certificate and its private key, as PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Creates a certificate authority. */
export const newAuthority = (name: string): Promise<Certificate> =>
  make(name, [
    { name: "basicConstraints", cA: true, critical: true },
    { name: "keyUsage", keyCertSign: true, cRLSign: true },
  ]);

/** Differences of a certificate from a valid one for loopback. */
export interface CertificateFlaws {
  /** Expired a minute ago. */
  readonly expired?: boolean;
  /** Valid only for this host. */
  readonly host?: string;
}

/** Creates a certificate for a server on loopback, or for a client. */
export const newCertificate = (
  name: string,
  authority: Certificate,
  { expired, host }: CertificateFlaws = {},
): Promise<Certificate> =>
  make(
    name,
    [
      { name: "basicConstraints", cA: false },
      { name: "keyUsage", digitalSignature: true },
      { name: "extKeyUsage", serverAuth: true, clientAuth: true },
      {
        name: "subjectAltName",
        altNames: host === undefined
          ? [{ type: 2, value: "localhost" }, { type: 7, ip: "127.0.0.1" }]
          : [{ type: 2, value: host }],
      },
    ],
    authority,
    expired,
  );

async function make(
  name: string,
  extensions: NonNullable<Parameters<typeof generate>[1]>["extensions"],
  ca?: Certificate,
  expired?: boolean,
): Promise<Certificate> {
  const { cert, private: key } = await generate(
    [{ name: "commonName", value: name }],
    {
      keyType: "ec",
      algorithm: "sha256",
      notBeforeDate: new Date(Date.now() - 3_600_000),
      ...(expired && { notAfterDate: new Date(Date.now() - 60_000) }),
      ...(extensions && { extensions }),
      ...(ca && { ca }),
    },
  );
  return { cert, key };
}
