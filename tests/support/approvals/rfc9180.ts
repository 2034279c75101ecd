import type { Bytes } from "../../../shared/approvals/bytes.ts";

/** Reads hexadecimal digits, which may be wrapped. */
export const hex = (text: string): Bytes =>
  Uint8Array.from(
    text.replaceAll(/\s/g, "").match(/../g) ?? [],
    (each) => parseInt(each, 16),
  );

/** RFC 9180, A.3.1: DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, base mode, sequence number 0. */
export const A_3_1 = {
  info: hex("4f6465206f6e2061204772656369616e2055726e"),
  pkEm: hex(
    `04a92719c6195d5085104f469a8b9814d5838ff72b60501e2c4466e5e67b32
     5ac98536d7b61a1af4b78e5b7f951c0900be863c403ce65c9bfcb9382657222d18c4`,
  ),
  skEm: hex(
    "4995788ef4b9d6132b249ce59a77281493eb39af373d236a1fe415cb0c2d7beb",
  ),
  pkRm: hex(
    `04fe8c19ce0905191ebc298a9245792531f26f0cece2460639e8bc39cb7f70
     6a826a779b4cf969b8a0e539c7f62fb3d30ad6aa8f80e30f1d128aafd68a2ce72ea0`,
  ),
  skRm: hex(
    "f3ce7fdae57e1a310d87f1ebbde6f328be0a99cdbcadf4d6589cf29de4b8ffd2",
  ),
  pt: hex("4265617574792069732074727574682c20747275746820626561757479"),
  aad: hex("436f756e742d30"),
  ct: hex(
    `5ad590bb8baa577f8619db35a36311226a896e7342a6d836d8b7bcd2f20b6c7f
     9076ac232e3ab2523f39513434`,
  ),
} as const;
