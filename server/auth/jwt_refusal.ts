import type { errors } from "jose";

/**
 * Describes for the audit log why a token was refused: which claim failed and why, without any value
 * of the token.
 */
export function describeRefusal(error: errors.JOSEError): string {
  if (error.code === "ERR_JWT_EXPIRED") {
    return "token refused: claim exp is past";
  }
  if (isClaimFailure(error)) {
    const why = error.reason === "missing"
      ? "is missing"
      : CLAIMS[error.claim] ?? "is not valid";
    return `token refused: claim ${error.claim} ${why}`;
  }
  return `token refused: ${
    REASONS[error.code] ?? "it cannot be verified"
  } (${error.code})`;
}

const isClaimFailure = (
  error: errors.JOSEError,
): error is errors.JWTClaimValidationFailed =>
  error.code === "ERR_JWT_CLAIM_VALIDATION_FAILED";

/** Reasons for claims that are present but not accepted. */
const CLAIMS: Readonly<Record<string, string>> = {
  iss: "is not the issuer that this server requires",
  aud: "is not the audience that this server requires",
  nbf: "is in the future",
};

const REASONS: Readonly<Record<string, string>> = {
  ERR_JOSE_ALG_NOT_ALLOWED: "its algorithm is not accepted",
  ERR_JWKS_NO_MATCHING_KEY: "no key matches it",
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "several keys match it",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "its signature is wrong",
  ERR_JWS_INVALID: "it is not a JWT",
  ERR_JWT_INVALID: "it is not a JWT",
};
