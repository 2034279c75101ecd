import { Buffer } from "node:buffer";

/** The number of hash slots of a Redis Cluster. */
export const SLOTS = 16_384;

/** Returns the hash slot of a key or a sharded channel: of what is in the first `{…}`, if anything. */
export function slotOf(key: string): number {
  const open = key.indexOf("{");
  const close = open < 0 ? -1 : key.indexOf("}", open + 1);
  const tag = close > open + 1 ? key.slice(open + 1, close) : key;
  return crc16(Buffer.from(tag)) % SLOTS;
}

/** CRC-16/XMODEM, as the specification of Redis Cluster has it. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
    }
  }
  return crc;
}
