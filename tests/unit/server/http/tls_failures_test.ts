import { assertStringIncludes } from "@std/assert";
import { describeTlsFailure } from "../../../../server/http/listeners.ts";

Deno.test("describeTlsFailure() says which side lacks what, for the codes of Node and of Deno", () => {
  const rows: [string, string | undefined, string][] = [
    [
      "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE",
      undefined,
      "the client shows no certificate",
    ],
    ["ECONNRESET", "CERT_HAS_EXPIRED", "the client's certificate has expired"],
    [
      "ECONNRESET",
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      "the client's certificate is not accepted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)",
    ],
    [
      "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA",
      undefined,
      "the client does not know the authority of this server's certificate",
    ],
    [
      "ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN",
      undefined,
      "the client does not accept this server's certificate",
    ],
    ["ERR_SSL_HTTP_REQUEST", undefined, "the client does not speak TLS"],
    [
      "ERR_SSL_WRONG_VERSION_NUMBER",
      undefined,
      "the client does not speak TLS",
    ],
    ["ERR_SSL_UNSUPPORTED_PROTOCOL", undefined, "no version or cipher of TLS"],
    [
      "ECONNRESET",
      undefined,
      "the client closed the connection during the handshake",
    ],
    ["ERR_SSL_ANYTHING", undefined, "the handshake failed (ERR_SSL_ANYTHING)"],
  ];
  for (const [code, certificate, expected] of rows) {
    assertStringIncludes(
      describeTlsFailure({ code, ...(certificate && { certificate }) }),
      expected,
    );
  }
});
