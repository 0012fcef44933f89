import {
  type Expression,
  isPredicate,
  type Literal,
  POWER,
  type Predicate,
  type PropertyNode,
  type Statement,
} from './syntax.ts';
import { RESERVED } from './tokens.ts';

type Node = Predicate | Expression;

/** The canonical text of a syntax tree: it parses to the same tree, and equal trees have equal texts. */
export function print(node: Node): string {
  return printWithin(node, 0);
}

/** The canonical text of an action. */
export function printAction(statements: readonly Statement[]): string {
  return statements
    .map((statement) => {
      const target = propertyText(statement.target);
      if (statement.kind === 'remove') return `REMOVE ${target}`;
      return `SET ${target} = ${printWithin(statement.value, POWER.additive)}`;
    })
    .join('; ');
}

/** Puts parentheses around a node that binds less tightly than `power`, which its context requires. */
function printWithin(node: Node, power: number): string {
  const text = isPredicate(node) ? predicateText(node) : expressionText(node);
  return powerOf(node) < power ? `(${text})` : text;
}

function powerOf(node: Node): number {
  switch (node.kind) {
    case 'or':
    case 'and':
    case 'not':
    case 'comparison':
    case 'sign':
      return POWER[node.kind];
    case 'isNull':
    case 'in':
    case 'like':
      return POWER.comparison;
    case 'arithmetic':
      return node.operator === '+' || node.operator === '-' ? POWER.additive : POWER.multiplicative;
    default:
      return Number.POSITIVE_INFINITY;
  }
}

function predicateText(node: Predicate): string {
  const value = (operand: Expression): string => printWithin(operand, POWER.additive);
  const not = 'negated' in node && node.negated ? 'NOT ' : '';
  switch (node.kind) {
    case 'not':
      return `NOT ${printWithin(node.operand, POWER.not)}`;
    case 'and':
    case 'or': {
      const power = POWER[node.kind];
      const right = printWithin(node.right, power + 1);
      return `${printWithin(node.left, power)} ${node.kind.toUpperCase()} ${right}`;
    }
    case 'comparison':
      return `${value(node.left)} ${node.operator} ${value(node.right)}`;
    case 'isNull':
      return `${value(node.operand)} IS ${not}NULL`;
    case 'exists':
      return `EXISTS(${value(node.operand)})`;
    case 'in':
      return `${value(node.operand)} ${not}IN (${node.list.map(value).join(', ')})`;
    case 'like': {
      const suffix = node.escape === undefined ? '' : ` ESCAPE ${value(node.escape)}`;
      return `${value(node.operand)} ${not}LIKE ${value(node.pattern)}${suffix}`;
    }
  }
}

function expressionText(node: Expression): string {
  switch (node.kind) {
    case 'constant':
      return literalText(node.value);
    case 'parameter':
      return `@${node.name}`;
    case 'newId':
      return 'newid()';
    case 'property':
      return propertyText(node);
    case 'propertyByName':
      return `property(${printWithin(node.name, POWER.additive)})`;
    case 'sign':
      // A sign after a sign gets parentheses, since `--` begins a comment in other SQL dialects.
      return `${node.operator}${printWithin(node.operand, POWER.sign + 1)}`;
    case 'arithmetic': {
      const power = powerOf(node);
      const right = printWithin(node.right, power + 1);
      return `${printWithin(node.left, power)} ${node.operator} ${right}`;
    }
  }
}

function literalText(literal: Literal): string {
  switch (literal.type) {
    case 'null':
      return 'NULL';
    case 'boolean':
      return literal.value ? 'TRUE' : 'FALSE';
    case 'string':
      return `'${literal.value.replaceAll("'", "''")}'`;
    case 'long':
      return String(literal.value);
    case 'double': {
      const text = String(literal.value);
      return /^[0-9]+$/.test(text) ? `${text}.0` : text;
    }
  }
}

/** A system property is written with its scope, a user property without. */
function propertyText(node: PropertyNode): string {
  const bare = /^\p{L}[\p{L}\p{Nd}_]*$/u.test(node.name) && !RESERVED.has(node.name.toUpperCase());
  const name = bare ? node.name : `[${node.name.replaceAll(']', ']]')}]`;
  return node.scope === 'sys' ? `sys.${name}` : name;
}
