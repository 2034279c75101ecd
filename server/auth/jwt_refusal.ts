import type { errors } from "jose";

/**
 * Says why a token was refused, for the audit log: which claim failed and why, and nothing of what
 * the token holds.
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

/** Why a claim that is there fails. */
const CLAIMS: Readonly<Record<string, string>> = {
  iss: "is not the issuer that this server asks for",
  aud: "is not the audience that this server asks for",
  nbf: "is in the future",
};

const REASONS: Readonly<Record<string, string>> = {
  ERR_JOSE_ALG_NOT_ALLOWED: "its algorithm is not accepted",
  ERR_JWKS_NO_MATCHING_KEY: "none of the keys is its own",
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "it does not say which key is its own",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "its signature is wrong",
  ERR_JWS_INVALID: "it is no JWT",
  ERR_JWT_INVALID: "it is no JWT",
};
