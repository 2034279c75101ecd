/** Characters of JSON, as bytes and as UTF-16 units. */
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const OPEN_ARRAY = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
