// @ts-check
/// <reference lib="dom" />
/** @import { Api } from "../data/api.js" */
/** @import { Call } from "../data/live.js" */
import { askReason } from "../ui/dialog.js";
import { h } from "../ui/element.js";
import { notify } from "../ui/notice.js";
import { hasFailed, runningText } from "../ui/text.js";

/**
 * Returns the look of a call's outcome.
 *
 * @param {Call} call
 */
export const classOf = ({ outcome }) =>
  outcome === undefined
    ? "warn"
    : outcome === "ok"
    ? "good"
    : hasFailed(outcome)
    ? "bad"
    : "muted";

/**
 * Says how a call ended, or what it does.
 *
 * @param {Call} call
 */
export const stateOf = (call) => call.outcome ?? runningText(call);

/**
 * Names a call: its tool, or what it asks otherwise.
 *
 * @param {Call} call
 */
export const nameOf = ({ tool, request }) =>
  tool ?? request.replace(/^client:/, "");

/**
 * Makes a button that ends a call for its Agent.
 *
 * @param {Call} call
 * @param {Api} api
 */
export const cancelButton = (call, api) =>
  h("button", {
    type: "button",
    "aria-label": `Cancel… ${nameOf(call)}`,
    onClick: () => cancel(call, api),
  }, "Cancel…");

/**
 * @param {Call} call
 * @param {Api} api
 */
async function cancel(call, api) {
  const { office, reqId } = call;
  const reason = await askReason({
    title: `Cancel ${nameOf(call)} of ${call.agent}`,
    action: "Cancel the call",
  });
  if (reason === undefined) return;
  try {
    const path = `offices/${encodeURIComponent(office)}/calls/cancel`;
    await api.post(path, { req_id: reqId, reason });
    notify(`${nameOf(call)} was cancelled.`);
  } catch (error) {
    notify(error instanceof Error ? error.message : String(error), "error");
  }
}
