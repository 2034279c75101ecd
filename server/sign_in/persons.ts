/**
 * Who the person is that a program sends to the page: whoever has a key of the Server, or on loopback
 * anyone, where the Server has no keys.
 *
 * @module
 */
import { API_KEY_HEADER } from "../auth/api_keys.ts";
import type { Refused } from "../auth/authenticator.ts";
import type { SignInHost } from "../doors/sign_in.ts";
import { isLoopbackName } from "../../shared/loopback.ts";
import { checkGatewayUse } from "../shared/identity.ts";
import type { Allower } from "./grant.ts";
import type { Parameters } from "./oauth.ts";
import { type KnownPerson, sha256 } from "./seals.ts";

/** A person, and until when the credentials are valid. */
export type Person = Pick<KnownPerson, "by" | "expiresAt">;

/** A way to find out who a person is. */
export interface Persons {
  /** Whether the page has a field for a key. */
  readonly asksKey: boolean;
  /** What the page shows where `find` refuses, for whatever reason. */
  readonly refusal: string;
  /** Finds who sends a form, who may use an office. */
  find(
    form: Parameters,
    office: string,
    address: string,
  ): Promise<Person | Refused>;
  /** Returns whether a person who was found may still use an office. */
  mayStill(by: Allower, office: string): Promise<boolean>;
}

/** Those who have a key of the Server with which an Agent may use the office. */
export class KeyHolders implements Persons {
  readonly asksKey = true;
  readonly refusal = "This key cannot be used for this office.";
  readonly #authenticate: NonNullable<SignInHost["authenticate"]>;
  readonly #find: SignInHost["find"];

  /** @param find absent where the Server cannot find keys again, so that none of them counts */
  constructor(
    authenticate: NonNullable<SignInHost["authenticate"]>,
    find: SignInHost["find"],
  ) {
    this.#authenticate = authenticate;
    this.#find = find;
  }

  async find(
    form: Parameters,
    office: string,
    address: string,
  ): Promise<Person | Refused> {
    const key = form.get("key")?.trim() ?? "";
    // Where API keys alone are looked for: a JWT would end within the hour.
    const headers = { [API_KEY_HEADER]: key };
    const found = await this.#authenticate({ headers, auth: {}, address });
    if ("refused" in found) return found;
    const forbidden = checkGatewayUse(found, office, Date.now());
    if (forbidden !== undefined) return { refused: forbidden };
    const { principal, expiresAt } = found;
    const by = { principal, keySha256: await sha256(key, "hex") };
    if (!await this.mayStill(by, office)) {
      return { refused: "the Server cannot find this key again" };
    }
    return { by, ...(expiresAt !== undefined && { expiresAt }) };
  }

  async mayStill(by: Allower, office: string): Promise<boolean> {
    const { principal, keySha256: sha256 = "" } = by;
    const found = await this.#find?.({ principal, sha256 });
    return found !== undefined && "principal" in found &&
      checkGatewayUse(found, office, Date.now()) === undefined;
  }
}

/** All who reach a Server without keys, which is on loopback alone. */
export class AnyPerson implements Persons {
  readonly asksKey = false;
  readonly refusal = "There is no office of this name.";

  /**
   * @param issuer absent where it is on loopback, and not known yet
   * @throws {TypeError} where others than this machine's users can reach it
   */
  constructor(issuer: string | undefined) {
    const { hostname = "localhost" } = URL.parse(issuer ?? "") ?? {};
    if (isLoopbackName(hostname)) return;
    throw new TypeError(
      "Cannot use signIn at a public URL without authenticator, since whoever reaches the page could let programs in: set authenticator, such as apiKeys(), or listen on loopback alone",
    );
  }

  find(): Promise<Person> {
    return Promise.resolve({ by: { principal: "sign-in" } });
  }

  mayStill(): Promise<boolean> {
    return Promise.resolve(true);
  }
}
