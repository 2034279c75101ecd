import * as z from "../validation/schema.ts";
import {
  computerCallShape,
  timeoutSeconds,
} from "../validation/identifiers.ts";
import { maybe } from "../validation/plain_values.ts";
import { type Parser, parser } from "../validation/parser.ts";
import type { AgentCallData } from "./tools.ts";

/** Requests a Computer to resolve a `dpe://` URI to one that the Agent can fetch (spec §4, §8.3). */
export interface GetDPEReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** `dpe://HOST/DOC-REF`; its form is checked by the Computer, which answers 4012. */
  uri: string;
  /** Seconds for reading and resolving; 30 when absent. */
  timeout?: number;
}

/** The resolved URI of a document (spec §4, §8.3). */
export interface GetDPERet {
  /** `https:`, `file:` or a custom scheme of the resolver; must not be kept beyond the session. */
  uri: string;
  /** The media type of the document. */
  mime_type?: string;
  /** The size in bytes. */
  size?: number;
  /** The `req_id` of the request. */
  req_id: string;
}

/** @internal */
export const getDPEReqSchema = z.looseObject({
  ...computerCallShape,
  uri: z.string(),
  timeout: z.exactOptional(timeoutSeconds),
});

/** @internal */
export const getDPERetSchema = z.pipe(
  z.looseObject({
    uri: z.string().check(z.minLength(1)),
    mime_type: maybe(z.string()),
    size: maybe(z.int().check(z.minimum(0))),
    req_id: z.string(),
  }),
  z.transform(({ mime_type, size, ...rest }) => ({
    ...rest,
    ...(typeof mime_type === "string" && { mime_type }),
    ...(typeof size === "number" && { size }),
  })),
);

/** Parses a {@linkcode GetDPEReq}. */
export const parseGetDPEReq: Parser<GetDPEReq> = parser(
  getDPEReqSchema,
);
/** Parses a {@linkcode GetDPERet}; null fields are left out. */
export const parseGetDPERet: Parser<GetDPERet> = parser(getDPERetSchema);
