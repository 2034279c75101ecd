import * as z from "../validation/schema.ts";
import { computerCallShape } from "../validation/identifiers.ts";
import { listOf } from "../validation/plain_values.ts";
import { type Parser, parser } from "../validation/parser.ts";
import type { AgentCallData } from "./tools.ts";

/** One rendered window: `URI\n\nBODY`, or the URI alone (spec §8.1). */
export type Desktop = string;

/** Requests a Computer's desktop (spec §4, §8.1). */
export interface GetDeskTopReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** Maximum number of windows of all MCP servers; absent: no limit, 0 or less: no windows. */
  desktop_size?: number;
  /** Only the window with exactly this URI. */
  window?: string;
}

/** The desktop of one Computer (spec §4, §8.1). */
export interface GetDeskTopRet {
  /** The windows, most relevant first. */
  desktops: Desktop[];
  /** The `req_id` of the request. */
  req_id: string;
}

/** @internal */
export const getDeskTopReqSchema = z.looseObject({
  ...computerCallShape,
  desktop_size: z.exactOptional(z.int()),
  window: z.exactOptional(z.string()),
});

/** @internal */
export const getDeskTopRetSchema = z.looseObject({
  desktops: listOf(z.string()),
  req_id: z.string(),
}) satisfies z.ZodMiniType<GetDeskTopRet>;

/** Parses a {@linkcode GetDeskTopReq}. */
export const parseGetDeskTopReq: Parser<GetDeskTopReq> = parser(
  getDeskTopReqSchema,
);
/** Parses a {@linkcode GetDeskTopRet}. */
export const parseGetDeskTopRet: Parser<GetDeskTopRet> = parser(
  getDeskTopRetSchema,
);
