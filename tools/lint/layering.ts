/**
 * A plugin of `deno lint` that separates the layers: which files may import which, where the `Deno`
 * global and `using` may be used, that nothing changes the environment of its process, where the names
 * of events are written, where versions of the protocol are compared, and where commands print. The rules
 * themselves are in `layering_rules.ts`, `version_rules.ts` and `print_rules.ts`; this file applies them to
 * the syntax tree.
 *
 * @module
 */
import {
  type Fault,
  judgeDenoGlobal,
  judgeEnvironment,
  judgeImport,
  judgeText,
  judgeUsing,
} from "./layering_rules.ts";
import { fileOf } from "./paths.ts";
import { isStream, judgeConsole, judgeStream } from "./print_rules.ts";
import { judgeComparer, judgeComparison, type Side } from "./version_rules.ts";

const imports = rule((file, report) => ({
  ImportDeclaration(node) {
    report(
      node,
      judgeImport(file, node.source.value),
    );
  },
  ExportNamedDeclaration(node) {
    if (node.source === null) return;
    report(
      node,
      judgeImport(file, node.source.value),
    );
  },
  ExportAllDeclaration(node) {
    report(
      node,
      judgeImport(file, node.source.value),
    );
  },
  ImportExpression(node) {
    const specifier = textOf(node.source);
    if (specifier !== undefined) {
      report(node, judgeImport(file, specifier, true));
    }
  },
  TSImportType(node) {
    const specifier = node.argument.type === "TSLiteralType"
      ? textOf(node.argument.literal)
      : undefined;
    if (specifier !== undefined) {
      report(node, judgeImport(file, specifier));
    }
  },
}));

const denoGlobal = rule((file, report) => ({
  "Identifier[name='Deno']"(node: Deno.lint.Node) {
    report(node, judgeDenoGlobal(file));
  },
}));

/** `Deno.env.set()` and `Deno.env.delete()`. */
const environment = rule((file, report) => ({
  MemberExpression({ object, property, parent }) {
    const isOfDeno = object.type === "MemberExpression" &&
      nameOf(object.object) === "Deno" && nameOf(object.property) === "env";
    if (isOfDeno && /^(set|delete)$/.test(nameOf(property))) {
      report(parent, judgeEnvironment(file));
    }
  },
}));

const using = rule((file, report) => ({
  VariableDeclaration(node) {
    if (/using$/.test(node.kind)) report(node, judgeUsing(file));
  },
}));

const eventNames = rule((file, report) => ({
  Literal(node) {
    const text = textOf(node);
    if (text !== undefined) report(node, judgeText(file, text));
  },
  TemplateElement(node) {
    report(node, judgeText(file, node.cooked));
  },
}));

function rule(
  visitor: (
    file: string,
    report: (node: Deno.lint.Node, fault: Fault | undefined) => void,
  ) => Deno.lint.LintVisitor,
): Deno.lint.Rule {
  return {
    create: (context) =>
      visitor(fileOf(context), (node, fault) => {
        if (fault) context.report({ node, ...fault });
      }),
  };
}

function textOf(node: Deno.lint.Node): string | undefined {
  return node.type === "Literal" && typeof node.value === "string"
    ? node.value
    : undefined;
}

const versions = rule((file, report) => ({
  BinaryExpression(node) {
    if (!COMPARISONS.has(node.operator)) return;
    const sides = [node.left, node.right].map(sideOf);
    report(node, judgeComparison(file, sides));
  },
  SwitchCase(node) {
    if (node.test !== null) {
      report(node, judgeComparison(file, [sideOf(node.test)]));
    }
  },
  ArrayExpression(node) {
    if (isDefault(node)) return;
    const sides = node.elements.map(sideOf).filter(({ text }) =>
      text !== undefined
    );
    report(node, judgeComparison(file, sides));
  },
  ImportSpecifier(node) {
    if (node.parent.type !== "ImportDeclaration") return;
    const { imported } = node;
    const name = imported.type === "Identifier" ? imported.name : "";
    report(node, judgeComparer(file, node.parent.source.value, name));
  },
}));

const COMPARISONS: ReadonlySet<string> = new Set(
  ["===", "!==", "==", "!=", "<", "<=", ">", ">="],
);

/** Reads an operand: its text if it is a literal, its last name if it is a reference. */
function sideOf(node: Deno.lint.Node | null): Side {
  switch (node?.type) {
    case "Literal":
      // A number is none: 0.5 is not version 0.5.
      return { text: typeof node.value === "string" ? node.value : "" };
    case "Identifier":
      return node.name === "undefined" ? { text: "undefined" } : {
        name: node.name,
      };
    case "MemberExpression":
      return sideOf(node.computed ? null : node.property);
    case "ChainExpression":
    case "TSNonNullExpression":
    case "TSAsExpression":
      return sideOf(node.expression);
    default:
      return {};
  }
}

/** Whether an array is an argument of a call: a value that is given, not one that is searched. */
const isDefault = ({ parent }: Deno.lint.ArrayExpression): boolean =>
  parent.type === "CallExpression";

/** `import { stdout } from "node:process"` and the like, in a file of a command. */
const printing = rule((file, report) => ({
  ImportDeclaration(node) {
    if (/^(node:)?console$/.test(node.source.value)) {
      report(node, judgeConsole(file));
    }
    if (!/^(node:)?process$/.test(node.source.value)) return;
    for (const each of node.specifiers) {
      const name = each.type === "ImportSpecifier" ? nameOf(each.imported) : "";
      if (isStream(name)) report(each, judgeStream(file, undefined));
    }
  },
  "Identifier[name='console']"(node: Deno.lint.Node) {
    report(node, judgeConsole(file));
  },
  MemberExpression(node) {
    if (!isProcess(node.object) || !isStream(nameOf(node.property))) return;
    const { parent } = node;
    const isRead = parent.type === "MemberExpression" && parent.object === node;
    const property = isRead ? nameOf(parent.property) : undefined;
    report(node, judgeStream(file, property));
  },
  VariableDeclarator({ id, init }) {
    if (id.type !== "ObjectPattern" || !isProcess(init)) return;
    for (const each of id.properties) {
      const name = each.type === "Property" ? nameOf(each.key) : "";
      if (isStream(name)) report(each, judgeStream(file, undefined));
    }
  },
}));

const isProcess = (node: Deno.lint.Node | null): boolean =>
  node?.type === "Identifier" && node.name === "process";

const nameOf = (node: Deno.lint.Node): string =>
  node.type === "Identifier" ? node.name : textOf(node) ?? "";

const plugin: Deno.lint.Plugin = {
  name: "layering",
  rules: {
    imports,
    printing,
    "deno-global": denoGlobal,
    environment,
    using,
    "event-names": eventNames,
    versions,
  },
};
export default plugin;
