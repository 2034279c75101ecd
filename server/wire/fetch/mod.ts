/**
 * Engine.IO and Socket.IO of our own, with the WebSockets of a platform that hands over whole messages,
 * such as `Deno.upgradeWebSocket`. Only servers with an adapter load this folder.
 *
 * @module
 */
export { FetchEngine } from "./fetch_engine.ts";
export type { ByteCount, PlatformSocket } from "./fetch_socket.ts";
