/**
 * The used part of the package `jose`: as a module of its own, so that bundles have no more of it. It
 * is loaded with the first token.
 *
 * @module
 */
export {
  calculateJwkThumbprint,
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  exportJWK,
  jwtVerify,
} from "jose";
