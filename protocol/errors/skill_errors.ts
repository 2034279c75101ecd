import { ErrorCode, ProtocolError } from "./protocol_error.ts";

/** Why a file of a skill cannot be read (0.4 §6.6); later versions may add others. */
export type SkillReason = "traversal" | "forbidden" | "not_found" | "too_large";

/** Creates the error of a name that no skill can have (0.4 §6.2). */
export const invalidSkillName = (name: string): ProtocolError =>
  new ProtocolError(ErrorCode.INVALID_SKILL_NAME, "Invalid skill name", {
    details: { name },
  });

/** Creates the error of a skill that is not there, or whose source is gone (0.4 §6.2). */
export const skillNotFound = (name: string): ProtocolError =>
  new ProtocolError(ErrorCode.MCP_SERVER_NOT_FOUND, "Skill not found", {
    details: { name },
  });

/**
 * Creates the error of a file of a skill that cannot be read (0.4 §6.5).
 *
 * @param totalSize its size in bytes, if that is the reason
 */
export const skillNotAccessible = (
  reason: SkillReason,
  relPath: string,
  totalSize?: number,
): ProtocolError =>
  new ProtocolError(
    ErrorCode.SKILL_NOT_ACCESSIBLE,
    "Skill resource not accessible",
    {
      details: {
        reason,
        rel_path: relPath,
        ...(totalSize !== undefined && { total_size: totalSize }),
      },
    },
  );
