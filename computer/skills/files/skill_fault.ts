/** Why a file of a skill is not given out (0.4 §6.6). */
export type SkillFaultReason =
  | "traversal"
  | "forbidden"
  | "not_found"
  | "too_large";

/** A file of a skill that is not given out; whoever asked receives the reason alone. */
export class SkillFault extends Error {
  /** Always `"SkillFault"`. */
  override readonly name = "SkillFault";
  /** Why. */
  readonly reason: SkillFaultReason;
  /** The bytes of a file that is too large. */
  readonly totalSize: number | undefined;

  /** Creates a fault. */
  constructor(reason: SkillFaultReason, totalSize?: number) {
    super(reason);
    this.reason = reason;
    this.totalSize = totalSize;
  }
}
