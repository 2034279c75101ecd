import type { QuestionFields } from "../../protocol/mod.ts";
import type { CallToolOptions } from "./options.ts";

/** The fields of a request whose questions its caller answers. */
export const inputFields = (
  { responses, state }: NonNullable<CallToolOptions["input"]>,
): QuestionFields => ({
  accepts: ["input_required"],
  ...(responses && { input_responses: responses }),
  ...(state !== undefined && { request_state: state }),
});
