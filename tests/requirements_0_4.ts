// deno-fmt-ignore-file -- a table: one clause, one to three lines
/**
 * The clauses of A2C-SMCP 0.3 and 0.4 (marked in docs/protocol.md), and the tests that prove them.
 *
 * Ids are "0.4 §", the section, and the number of the clause in it.
 */
import type { Requirement } from "./requirements.ts";

/** The clauses in the order of the sections. */
export const REQUIREMENTS_0_4: readonly Requirement[] = [
  // §1 Versions
  { id: "0.4 §1.1.1", clause: "Each version sends the number of its released SDKs", tests: ["the versions are those that released SDKs send (0.4 §1.1)"] },
  { id: "0.4 §1.4.1", clause: "From 0.3 on clients open with polling, whatever their user wants",
    tests: ["dial() begins with polling from 0.3 on, whatever its user wants (0.4 §1.4)"] },
  { id: "0.4 §1.4.2", clause: "Close code 4900: no reconnect, one request over polling for the 4008, then the version error",
    tests: ["SmcpAgent.connect() throws ProtocolVersionError on 4008 without a reconnect loop: ${name} (0.4 §1.4)"] },
  { id: "0.4 §1.5.1", clause: "Each member of an office has the version of its connection",
    tests: ["an Agent of each version uses Computers of all versions in one office: tools, configuration, resources, prompts, desktop, uploads, notices (0.4 §3.6)",
      "a session keeps the version of its first request, whatever its later ones say (0.4 §2)"] },
  { id: "0.4 §1.5.2", clause: "Members of every two versions use in one office what both have; the rest is answered with 400, or not sent",
    tests: ["an Agent of ${one} and a Computer of ${other} share an office: every event that both have (0.4 §1.2)",
      "an Agent of each version uses Computers of all versions in one office: tools, configuration, resources, prompts, desktop, uploads, notices (0.4 §3.6)",
      "docs/protocol.md lists what each version lacks, and the error of a Computer that lacks it (0.4 §1.2)"] },

  // §2 What changed
  { id: "0.4 §2.1", clause: "The rule of compatibility holds for each version that a Server serves",
    tests: ["the version table holds against a server of 0.2 and 0.4, over polling and upgrade (0.4 §2, §18)"] },

  // §3 Identity
  { id: "0.4 §3.1.1", clause: "A bundle_id is explicit or derived, of [A-Za-z0-9_-] without __; an invalid one is an error of the configuration",
    tests: ["0.4 §3.1: a configuration has explicit and derived ids, under either name of the field", "0.4 §3.1: an invalid id is an error that names field, problem and remedy",
      "0.4 §3.1: an id does not depend on the variables of another program's file"] },
  { id: "0.4 §3.2.1", clause: "The derivation: code points, runs and ends of _, else a hash of the connection; http is streamable; placeholders literally",
    tests: ["0.4 §3.2: bundleIdOf() counts code points, and orders keys by them", "0.4 §3.2: `http` counts as `streamable`, and placeholders and defaults as they are written"] },
  { id: "0.4 §3.3.1", clause: "The 16 conformance vectors", tests: ["0.4 §3.3: a configuration gives the ids of all vectors, also to a server without a name"] },
  { id: "0.4 §3.4.1", clause: "Of several servers with one bundle_id the first starts, the others are reported problems",
    tests: ["0.4 §3.4: of two servers with one bundle_id the first starts, and the other is a problem until that is gone", "0.4 §3.4: check shows a bundle_id that is taken, and ids where they differ",
      "0.4 §3.4: distinctIds() gives a bundle_id to servers that would not start, and to no others"] },
  { id: "0.4 §3.4.2", clause: "A server that is added at run time takes the place of that with its bundle_id",
    tests: ["0.4 §3.4: a server that is added, or whose name alone changes in the file, takes the place of that with its bundle_id"] },
  { id: "0.4 §3.4.3", clause: "Two keys of one file that derive the same id: an error that refuses the file",
    tests: ["0.4 §3.4: a file in which two names derive one bundle_id is refused, in every format, and import gives one an id"] },
  { id: "0.4 §3.5.1", clause: "A tool's name is bundle_id, __ and its alias or own name, always",
    tests: ["0.4 §3.5: a tool is named by its bundle_id and its alias or own name, always", "0.4 §3.5: servers have no clashes, but two tools of one with one alias are a problem"] },
  { id: "0.4 §3.5.2", clause: "Names are looked up in one table, and never split", tests: ["0.4 §3.5: a call is resolved by the table alone, and names are never split; 4001 names the right one"] },
  { id: "0.4 §3.5.3", clause: "forbidden_tools are MCP names, aliases or exposed names",
    tests: ["0.4 §3.5: a tool is forbidden by its MCP name, its alias and any name it is offered under"] },
  { id: "0.4 §3.5.4", clause: "Names that are too long for models are shortened by the Agent alone, without collisions",
    tests: ["0.4 §3.5: toolName() keeps a bundle_id, and of one that does not fit a part",
      "0.4 §3.5: Catalogue keeps a part of a long bundle_id in a name, and tells the tools of two servers apart",
      "0.4 §3.5: Catalogue leaves the MCP server out of a name where its Computer has one alone, and takes the whole name too"] },
  { id: "0.4 §3.5.5", clause: "People and programs may leave the bundle_id out where a tool's own name is unique; else an error lists the whole names",
    tests: ["0.4 §3.5: a tool is found by its whole name, or by its own one where that is unique", "0.4 §3.5: an ambiguous name is an error that lists the whole ones"] },
  { id: "0.4 §3.6.1", clause: "bundle_id stands in tools, configuration, requests and errors of 0.3 and 0.4, and the name before",
    tests: ["0.4 §3.6: names of servers and tools at a Server of ${protocol}", "0.4 §3.6: prompts and resources of an MCP server are asked for by what names it in ${protocol}",
      "0.4 §3.5: 4006 of a tool of a server that refused names it by its bundle_id"] },
  { id: "0.4 §3.6.2", clause: "At a command line a unique name or an id; several of a name are an error that lists them",
    tests: ["0.4 §3.6: a server is found by a name that only it has, or by its id; else an error lists both", "0.4 §3.6: smcp-agent shows ids where they differ, and takes a name or an id",
      "0.4 §3.6: the shell takes a name or an id, completes both, and refuses a name that two servers have"] },

  // §5 Events
  { id: "0.4 §5.1", clause: "The Server routes get_skills, get_skill and get_blob from 0.2 on, put_blob in 0.4, as bytes, errors too",
    tests: ["an Agent of ${one} and a Computer of ${other} share an office: every event that both have (0.4 §1.2)", "each version from 0.2 on has skills and blobs, 0.4 uploads too (0.4 §5, §16)"] },
  { id: "0.4 §5.2", clause: "The Server broadcasts update_skills of a Computer about itself",
    tests: ["an Agent of ${one} and a Computer of ${other} share an office: every event that both have (0.4 §1.2)"] },

  // §6 Skills
  { id: "0.4 §6.1.1", clause: "The Agent compares the SHA-256 of what it gets", tests: ["0.4 §6.1: a text that is not the announced one is refused"] },
  { id: "0.4 §6.2.1", clause: "Names have one, two or three segments; others are 4016", tests: ["isSkillName() takes names of one, two and three segments, and no other text (0.4 §6.2)"] },
  { id: "0.4 §6.3.1", clause: "A skill is described by its front matter", tests: ["readFrontMatter() reads what a skill tells of itself (0.4 §6.3)"] },
  { id: "0.4 §6.4.1", clause: "Skills come from the user's folder and, by resources, mounted or archive, from MCP servers",
    tests: ["0.4 §6.4: MCP servers bring skills in three ways; one that cannot be had is left out", "skillRoots() finds skills and their files (0.4 §6.4)",
      "the folder of skills is the one of other Computers of this user (0.4 §6.4)"] },
  { id: "0.4 §6.4.2", clause: "Archives are checked: no .., no absolute names, no links, no bombs",
    tests: ["0.4 §6.4: archives with names that lead out are refused", "0.4 §6.4: archives with links and devices are refused", "0.4 §6.4: bombs are refused before they fill the disk"] },
  { id: "0.4 §6.5.1", clause: "get_skill: name, registry, sandbox, then bytes as text or handle, each failure with its code",
    tests: ["0.4 §6.5: what is not given out is refused with its code and reason", "0.4 §6.5: the body is everything after the second fence, with its line ends",
      "0.4 §6.5: without both fences the whole file is the body"] },
  { id: "0.4 §6.6.1", clause: "The sandbox refuses what leads out, and .skillenv, also when links change between check and use",
    tests: ["0.4 §6.6: the sandbox refuses hostile paths, each for its reason", "0.4 §6.6: a link that is put in the file's place after the check is not followed",
      "0.4 §6.6: a link that flips all the time never leads out"] },
  { id: "0.4 §6.7.1", clause: "Types go by the table that all SDKs have", tests: ["0.4 §6.7: types by extension are those of every SDK", "0.4 §6.7: which types are text"] },
  { id: "0.4 §6.8.1", clause: "Changes are announced, bursts once", tests: ["0.4 §6.8: changes of the user's folder are announced, bursts once", "0.4 §6: a skill that is added is notified; a file that changes is not mistaken for the first"] },
  { id: "0.4 §6.10.1", clause: "Errors about skills have the codes and details of the protocol", tests: ["errors about skills have their code and details (0.4 §6.10, §11)"] },

  // §7 Blobs
  { id: "0.4 §7.1.1", clause: "A handle is no way to read files", tests: ["0.4 §7.1: 10,000 mutated handles read nothing but what was given out", "0.4 §7.1: 10,000 mutated handles of a skill read nothing but its files"] },
  { id: "0.4 §7.2.1", clause: "get_blob answers within range, wish and limits; what is gone is 4018 gone",
    tests: ["0.4 §7.2: getBlob() answers within the range, the wish, its own limit and the Server's", "0.4 §7.2: what the store no longer has, or had for another office, is gone"] },
  { id: "0.4 §7.3.1", clause: "Binary content above the budget leaves the result, with handle, size and SHA-256 in its _meta", tests: ["0.4 §7.3: content above the budget leaves the result, smaller content stays"] },
  { id: "0.4 §7.3.2", clause: "The Agent puts it back, or says loudly that it cannot",
    tests: ["0.4 §7.3: callTool() puts large content back, as an inline result would have it", "0.4 §7.3: callTool() says loudly what it cannot fetch, and why"] },
  { id: "0.4 §7.4.1", clause: "A source that changes meanwhile is fetched anew, a bounded number of times", tests: ["0.4 §7.4: callTool() starts over when the bytes change meanwhile"] },
  { id: "0.4 §7.5.1", clause: "put_blob: chunk by chunk, renamed into its place at the end; failures in the order of their reasons",
    tests: ["0.4 §7.5: Uploads puts a file in its place after the last chunk", "0.4 §7.5: Uploads refuses a first chunk in the order of the reasons",
      "0.4 §7.5: Uploads goes on after some failures, and drops the upload after others"] },
  { id: "0.4 §7.5.2", clause: "Nothing is written outside of the landing root, and nothing stays of an upload that failed",
    tests: ["0.4 §7.5: Uploads writes nothing outside of its folder", "0.4 §7.5: files go up through a Server of small messages; a cancel in the middle leaves nothing",
      "0.4 §7.5: a killed Computer leaves nothing of uploads but what the next one removes"] },

  // §8 Tools and results
  { id: "0.4 §8.1.1", clause: "Of a declared a2c_tool_meta only tags count, below configured ones",
    tests: ["0.4 §8.1: tags that an MCP server declares are taken where none are configured, and nothing else of its declaration; a malformed one is not", "0.4 §8.1: malformed declarations of a server are one warning"] },
  { id: "0.4 §8.3.1", clause: "Failed authorizations are 4006 or 4007, at once; other failures are not", tests: ["0.4 §8.3: refusals of a call are about authorization as in the vectors: 401, 403, and 400 with WWW-Authenticate"] },

  // §9 Configuration, resources, Desktop
  { id: "0.4 §9.1", clause: "pickString: both forms are read; a value that is no option is an error",
    tests: ["0.4 §9: a pickString takes values of options in both forms, and no label, and shows no other value", "0.4 §9: a pickString that nobody answers is its default, then its first option, and not kept",
      "parseComputerConfig() lists every problem with its path and a remedy; the schema refuses the same files"] },
  { id: "0.4 §9.2", clause: "Resources are written in both spellings, and read in either; nothing is dropped",
    tests: ["a Computer writes resources in both spellings (0.4 §9)", "SmcpAgent receives every kind of answer of a Computer",
      "inBothSpellings() adds the protocol's names to those of MCP, and drops nothing (0.4 §9)", "inMcpSpelling() reads either spelling, and both (0.4 §9)"] },
  { id: "0.4 §9.3", clause: "The Desktop is grouped by bundle_id", tests: ["0.4 §9: the Desktop is in order of use, then of bundle_id"] },

  // §10 Connecting and offices
  { id: "0.4 §10.1", clause: "agent in a payload that differs from the join's name is not refused, unless credentials restrict names (spec §5); the Server sends the session's name",
    tests: ["checkAccess() checks role, name and office in this order, and never reveals which other offices exist (spec §5)",
      "an agent that gives another name acts under the name of its seat; binary data passes both ways (spec §5)", "an agent that gives another name acts under that of its seat, and cannot pretend to be an operator (spec §5)"] },
  { id: "0.4 §10.2", clause: "API keys are taken from auth.token, too", tests: ["anyOf() admits a client that any authenticator admits, and otherwise combines the reasons"] },

  // §12 DPE and Finder
  { id: "0.4 §12.1", clause: "A Computer without an event leaves its ack empty: 400, which names the event",
    tests: ["answers: an object passes, an empty ack is 400 for what not all know, anything else 500 (spec §7, 0.4 §12)"] },

  // §14 Variables of inputs
  { id: "0.4 §14.1", clause: "A2C_SMCP_… variables hold the values of inputs; two of one name are an error",
    tests: ["0.4 §14: sharedVariable() gives the names of all vectors", "0.4 §14: inputVariables() lists the environment variables of an input, that of other SDKs last", "0.4 §14: two inputs with one variable are an error, also when one is put"] },

  // §15 Interop
  { id: "0.4 §15.1.1", clause: "A refused version is audited with both versions, and a client says what helps",
    tests: ["a refused version is audited with both versions (0.4 §15.1)", "ProtocolVersionError names both versions and the one to choose, which this package lacks only for 0.1"] },

  // §18 Several versions
  { id: "0.4 §18.1", clause: "One front and one office of a name for all versions, chosen by a2c_version at the gate",
    tests: ["an Agent of each version uses Computers of all versions in one office: tools, configuration, resources, prompts, desktop, uploads, notices (0.4 §3.6)", "--protocol takes a list, all, and nothing else (0.4 §18)"] },
  { id: "0.4 §18.2", clause: "Limits per address, metrics and shutdown are shared",
    tests: ["sessions of an address count together, whatever their versions (0.4 §18)", "close() answers calls that exceed graceMs with an error, never with silence; it counts as leaving, with the same notifications (spec §5)",
      "/health of several versions counts each; of one version it is as before, and so are /metrics (0.4 §18)"] },
  { id: "0.4 §18.3", clause: "Operators see the version of each member", tests: ["members of several protocol versions are in one office, each with its version"] },
  { id: "0.4 §18.4", clause: "MCP serves Computers of every version of an office",
    tests: ["MCP shows the tools of Computers of every version in one office, and its Agent makes way for one of any version (0.4 §18)",
      "an office of ${protocol} is served as an MCP server (0.4 §18)"] },
  { id: "0.4 §18.5", clause: "A client has one version a connection; left the choice, it takes the newest that the Server lets in, else follows a 4008 once",
    tests: ["a client without a wish speaks the newest version that the Server lets in, and none is refused (0.4 §18)", "VersionChoice takes the newest version that a Server lists, and follows its refusal nevertheless (0.4 §18)", "VersionChoice starts with 0.2, and follows a refusal once until it is accepted (0.4 §18)", "a Server that refuses the version that it names is asked twice, not for ever", "a client with a wish speaks no other version, and the error says what helps"] },
  { id: "0.4 §18.6", clause: "A Computer's names follow the version of its connection",
    tests: ["0.4 §18: a Computer with the option of a version uses its names before it is connected", "0.4 §18: a reconnect to a Server of another version renames the tools, and notifies the office"] },
];
