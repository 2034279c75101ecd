/**
 * What the MCP servers of an office use of its Agent: all of it, or the part that a person has chosen.
 *
 * A view gets nothing else of the Agent, so that whatever a client does ends here. A Computer that is not chosen is
 * one that is not in the office: in lists, in events, and in the error of a request.
 *
 * @module
 */
import type { AgentEvents, SmcpAgent } from "../agent/mod.ts";
import { notInOffice } from "../protocol/errors.ts";
import { choosing, type ComputerChoice } from "../shared/computer_choice.ts";

/** The requests to one Computer, which is the first argument of each. */
type ToComputer =
  | "callTool"
  | "complete"
  | "getConfig"
  | "getDesktop"
  | "getFinder"
  | "getInstructions"
  | "getPrompt"
  | "getPrompts"
  | "getResourceTemplates"
  | "getSkill"
  | "getSkills"
  | "openDocument";

/** The events that name a Computer, or an Agent. */
type OfficeEvent =
  | "enterOffice"
  | "tools"
  | "toolsFailed"
  | "updateConfig"
  | "updateDesktop"
  | "updateFinder"
  | "updateResources"
  | "updateSkills"
  | "updateToolList";

/** What is used of an Agent. */
export interface OfficeAgent extends
  Pick<
    SmcpAgent,
    | ToComputer
    | "allResources"
    | "cancel"
    | "office"
    | "startingServers"
    | "toolProblems"
    | "tools"
    | "toolsSettled"
  > {
  on<E extends OfficeEvent>(
    event: E,
    listener: (value: AgentEvents[E]) => unknown,
  ): () => void;
}

/** An Agent with some Computers of its office alone. */
export class ChosenComputers implements OfficeAgent {
  readonly #agent: SmcpAgent;
  readonly #isChosen: (computer: string) => boolean;

  constructor(agent: SmcpAgent, choice: ComputerChoice) {
    this.#agent = agent;
    this.#isChosen = choosing(choice);
  }

  /**
   * Returns the Agent, for a request to a Computer.
   *
   * @throws {ProtocolError} 404, as for one that is not in the office
   */
  at(computer: string): SmcpAgent {
    if (this.#isChosen(computer)) return this.#agent;
    throw notInOffice(computer);
  }

  get office(): string | undefined {
    return this.#agent.office;
  }

  get tools(): SmcpAgent["tools"] {
    return this.#chosen(this.#agent.tools);
  }

  get toolProblems(): SmcpAgent["toolProblems"] {
    return this.#chosen(this.#agent.toolProblems);
  }

  get startingServers(): SmcpAgent["startingServers"] {
    return this.#chosen(this.#agent.startingServers);
  }

  toolsSettled(): Promise<void> {
    return this.#agent.toolsSettled();
  }

  on<E extends OfficeEvent>(
    event: E,
    listener: (value: AgentEvents[E]) => unknown,
  ): () => void {
    return this.#agent.on(event, (value) => {
      const { computer } = value;
      if (computer === undefined || this.#isChosen(computer)) listener(value);
    });
  }

  cancel(reqId: string): void {
    this.#agent.cancel(reqId);
  }

  callTool: SmcpAgent["callTool"] = async (computer, ...rest) =>
    await this.at(computer).callTool(computer, ...rest);

  complete: SmcpAgent["complete"] = async (computer, ...rest) =>
    await this.at(computer).complete(computer, ...rest);

  getConfig: SmcpAgent["getConfig"] = async (computer, ...rest) =>
    await this.at(computer).getConfig(computer, ...rest);

  getDesktop: SmcpAgent["getDesktop"] = async (computer, ...rest) =>
    await this.at(computer).getDesktop(computer, ...rest);

  getFinder: SmcpAgent["getFinder"] = async (computer, ...rest) =>
    await this.at(computer).getFinder(computer, ...rest);

  getInstructions: SmcpAgent["getInstructions"] = async (computer, ...rest) =>
    await this.at(computer).getInstructions(computer, ...rest);

  getPrompt: SmcpAgent["getPrompt"] = async (computer, ...rest) =>
    await this.at(computer).getPrompt(computer, ...rest);

  getPrompts: SmcpAgent["getPrompts"] = async (computer, ...rest) =>
    await this.at(computer).getPrompts(computer, ...rest);

  getResourceTemplates: SmcpAgent["getResourceTemplates"] = async (
    computer,
    ...rest
  ) => await this.at(computer).getResourceTemplates(computer, ...rest);

  getSkill: SmcpAgent["getSkill"] = async (computer, ...rest) =>
    await this.at(computer).getSkill(computer, ...rest);

  getSkills: SmcpAgent["getSkills"] = async (computer, ...rest) =>
    await this.at(computer).getSkills(computer, ...rest);

  openDocument: SmcpAgent["openDocument"] = async (computer, ...rest) =>
    await this.at(computer).openDocument(computer, ...rest);

  allResources: SmcpAgent["allResources"] = (computer, ...rest) =>
    this.at(computer).allResources(computer, ...rest);

  #chosen<T>(all: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
    return new Map([...all].filter(([computer]) => this.#isChosen(computer)));
  }
}

/**
 * Returns what a request to a Computer goes through.
 *
 * @throws {ProtocolError} 404, where the Computer is not chosen
 */
export const agentAt = (agent: OfficeAgent, computer: string): OfficeAgent =>
  agent instanceof ChosenComputers ? agent.at(computer) : agent;
