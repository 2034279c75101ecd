/**
 * The WebSockets of a platform that hands over whole messages, such as `Deno.upgradeWebSocket`, in place
 * of those that the server reads itself. Only the entry for `fetch` loads this folder.
 *
 * @module
 */
export { type ByteCount, type PlatformSocket } from "./fetch_socket.ts";
export { fetchWsOption, UpgradeCarrier } from "./fetch_engine.ts";
