import { assertEquals, assertThrows } from "@std/assert";
import {
  type RedisTls,
  toTlsOptions,
} from "../../../../../server/cluster/redis/url.ts";
import { parseRedisUrl } from "../../../../../server/cluster/redis/url.ts";
import {
  newAuthority,
  newCertificate,
} from "../../../../support/certificates.ts";

const plain = parseRedisUrl("redis://host");
const secure = parseRedisUrl("rediss://host");
const authority = await newAuthority("ca");
const client = await newCertificate("client", authority);
const other = await newCertificate("other", authority);

Deno.test("toTlsOptions() keeps certificates, and takes a URL without TLS as it is", () => {
  assertEquals(toTlsOptions(plain, {}), undefined);
  assertEquals(toTlsOptions(secure, {}), {});
  const all = { ca: authority.cert, ...client };
  assertEquals(toTlsOptions(secure, all), all);
});

const REFUSED: Readonly<Record<string, readonly [RedisTls, string]>> = {
  "a CA that is no PEM": [{ ca: "no" }, "the CA is not valid PEM"],
  "a certificate without its key": [
    { cert: client.cert },
    "a certificate and its key come together",
  ],
  "the key of another certificate": [
    { cert: client.cert, key: other.key },
    "the key is not the certificate's",
  ],
};

for (const [what, [files, reason]] of Object.entries(REFUSED)) {
  Deno.test(`toTlsOptions() refuses ${what}`, () => {
    assertThrows(() => toTlsOptions(secure, files), TypeError, reason);
  });
}

Deno.test("toTlsOptions() refuses certificates where the URL is without TLS", () => {
  assertThrows(
    () => toTlsOptions(plain, { ca: authority.cert }),
    TypeError,
    "certificates need a URL with TLS",
  );
});
