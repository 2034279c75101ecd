import type { Resource } from "../../../protocol/mod.ts";
import { isRecord } from "../../util/values.ts";
import { hideSecrets } from "../../util/hide_secrets.ts";

/** How a window is to be shown. */
export interface WindowLayout {
  /** 0 to 1; higher is shown first. */
  readonly priority: number;
  /** Hides the other windows of its MCP server. */
  readonly fullscreen: boolean;
  /** Invalid fields that were replaced with defaults, one sentence each, for the log. */
  readonly warnings: readonly string[];
}

/** Reads the layout of a window from its resource; null counts as absent (spec §8.1). */
export function windowLayout({ annotations, _meta }: Resource): WindowLayout {
  const { priority, audience }: Record<string, unknown> = isRecord(annotations)
    ? annotations
    : {};
  const { fullscreen }: Record<string, unknown> = isRecord(_meta) ? _meta : {};
  const fits = typeof priority === "number" && priority >= 0 && priority <= 1;
  const warnings: string[] = [];
  if (isGiven(annotations) && !isRecord(annotations)) {
    warnings.push("annotations must be an object; they are ignored");
  }
  if (isGiven(priority) && !fits) {
    warnings.push(
      `annotations.priority must be a number from 0 to 1, got ${
        show(priority)
      }; 0 is used`,
    );
  }
  if (isGiven(fullscreen) && typeof fullscreen !== "boolean") {
    warnings.push(
      `_meta.fullscreen must be true or false, got ${
        show(fullscreen)
      }; false is used`,
    );
  }
  if (
    isGiven(audience) &&
    !(Array.isArray(audience) && audience.includes("assistant"))
  ) {
    warnings.push(
      `annotations.audience should hold "assistant", got ${
        show(audience)
      }; the window is shown anyway`,
    );
  }
  return {
    priority: fits ? priority : 0,
    fullscreen: fullscreen === true,
    warnings,
  };
}

const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null;

const show = (value: unknown): string => {
  const text = hideSecrets(JSON.stringify(value));
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
};
