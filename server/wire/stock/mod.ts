/**
 * Stock Engine.IO and Socket.IO, on `node:http`, with a custom WebSocket server below them. Only the
 * entry that listens loads this folder.
 *
 * @module
 */
export { wsEngineOption } from "./frame_engine.ts";
export { StockEngine } from "./stock_engine.ts";
