/**
 * The characters of JSON's structure, as UTF-16 units and as bytes.
 *
 * @module
 */
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const LIST = 0x5b;
export const BACKSLASH = 0x5c;
export const LIST_END = 0x5d;
export const OBJECT = 0x7b;
export const OBJECT_END = 0x7d;

/** Whether a list or an object begins with it. */
export const isOpening = (character: number): boolean =>
  character === LIST || character === OBJECT;

/** Whether a list or an object ends with it. */
export const isClosing = (character: number): boolean =>
  character === LIST_END || character === OBJECT_END;
