import { modernRequest, post } from "../mcp/post.ts";
import { SignInVisitor } from "./sign_in.ts";

const LIST = modernRequest("tools/list");

/** What programs do at a Server's command. */
export class CommandVisitor extends SignInVisitor {
  readonly issuer: string;

  constructor(issuer: string) {
    super();
    this.issuer = issuer;
  }

  override request(path: string, init?: RequestInit): Promise<Response> {
    return fetch(this.issuer + path, init);
  }

  /** Returns the status of a request for the office "north" with a token. */
  async status(token: string): Promise<number> {
    const { status } = await post(`${this.issuer}/mcp/north`, {
      ...LIST,
      headers: { ...LIST.headers, authorization: `Bearer ${token}` },
    });
    return status;
  }
}
