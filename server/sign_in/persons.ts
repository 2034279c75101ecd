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

/** A way to know who a person is. */
export interface Persons {
  /** What the page shows to a person who is refused, for whatever reason. */
  readonly refusal: string;
  /**
   * Returns until when a person who was found may still use an office, by no date where there is no end;
   * `undefined` for one who may not.
   */
  mayStill(
    by: Allower,
    office: string,
  ): Promise<Pick<Person, "expiresAt"> | undefined>;
  /** Refuses a person from now on, as long as the process runs; returns whether it can be one of them. */
  revoke?(principal: string): boolean;
}

/** A way to find out on our own page who a person is. */
export interface PersonsHere extends Persons {
  /** Whether the page has a field for a key. */
  readonly asksKey: boolean;
  /** Finds who sends a form, who may use an office. */
  find(
    form: Parameters,
    office: string,
    address: string,
  ): Promise<Person | Refused>;
}

/** Those who have a key of the Server with which an Agent may use the office. */
export class KeyHolders implements PersonsHere {
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
    if (await this.mayStill(by, office) === undefined) {
      return { refused: "the Server cannot find this key again" };
    }
    return { by, ...(expiresAt !== undefined && { expiresAt }) };
  }

  async mayStill(
    { principal, keySha256: sha256 }: Allower,
    office: string,
  ): Promise<Pick<Person, "expiresAt"> | undefined> {
    if (sha256 === undefined) return undefined; // of a time without keys
    const found = await this.#find?.({ principal, sha256 });
    const isGood = found !== undefined && "principal" in found &&
      checkGatewayUse(found, office, Date.now()) === undefined;
    if (!isGood) return undefined;
    const { expiresAt } = found;
    return expiresAt === undefined ? {} : { expiresAt };
  }
}

/** The principal of all persons where there are no keys. */
const ANYONE = "sign-in";

/** All who reach a Server without keys, which is on loopback alone. */
export class AnyPerson implements PersonsHere {
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
    return Promise.resolve({ by: { principal: ANYONE } });
  }

  mayStill(
    { principal }: Allower,
  ): Promise<Pick<Person, "expiresAt"> | undefined> {
    return Promise.resolve(principal === ANYONE ? {} : undefined);
  }
}
