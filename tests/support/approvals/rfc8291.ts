/**
 * The example of RFC 8291: a program without a module of any platform, so that each runtime can run it.
 *
 * @module
 */
import { encryptPush } from "../../../computer/approvals/push.ts";
import {
  fromBase64url,
  toBase64url,
  utf8,
} from "../../../shared/approvals/bytes.ts";
import { vectorKeys } from "./core_flow.ts";

/** RFC 8291, appendix A. */
export const RFC_8291 = {
  plain: "When I grow up, I want to be a watermelon",
  asPublic:
    "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8",
  asPrivate: "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
  uaPublic:
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
  uaPrivate: "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94",
  auth: "BTBZMqHH6r4Tts7J_aSIgg",
  salt: "DGv6ra1nlYgDCS1FRnbzlw",
  body:
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
} as const;

/** Encrypts it; returns the body in base64url. */
export async function pushExample(): Promise<string> {
  const { plain, asPublic, asPrivate, uaPublic, auth, salt } = RFC_8291;
  const body = await encryptPush(
    utf8(plain),
    { p256dh: uaPublic, auth },
    {
      keys: await vectorKeys(
        fromBase64url(asPublic),
        fromBase64url(asPrivate),
      ),
      salt: fromBase64url(salt),
      size: 0,
    },
  );
  return toBase64url(body);
}
