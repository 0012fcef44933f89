import {
  type Expression,
  isPredicate,
  POWER,
  type Predicate,
  type PropertyNode,
} from './syntax.ts';
import type { TokenReader } from './token-reader.ts';
import { describeToken, RESERVED, type Token } from './tokens.ts';

type Node = Predicate | Expression;
/** The parser of whole nodes. It is a parameter, so that the two files do not import each other. */
type ParseNode = (reader: TokenReader, power: number) => Node;

const INT64_MAX = 2n ** 63n - 1n;

/** Parses the first operand of a node, without signs and NOT. Throws FilterError. */
export function parsePrefix(reader: TokenReader, parseNode: ParseNode): Node {
  const token = reader.take();
  const { at, text } = token;
  switch (token.kind) {
    case 'string':
      return { kind: 'constant', value: { type: 'string', value: text }, at };
    case 'integer':
      return { kind: 'constant', value: { type: 'long', value: integerOf(reader, token) }, at };
    case 'double':
      return { kind: 'constant', value: { type: 'double', value: Number(text) }, at };
    case 'parameter':
      return { kind: 'parameter', name: text, at };
    case 'name':
      return parseProperty(reader, token);
    case 'word':
      return parseWord(reader, token, parseNode);
    default:
      return parseParentheses(reader, token, parseNode);
  }
}

function integerOf(reader: TokenReader, token: Token): bigint {
  const value = BigInt(token.text);
  if (value <= INT64_MAX) return value;
  throw reader.error(token, `the integer ${describeToken(token)} does not fit in 64 bits.`);
}

function parseParentheses(reader: TokenReader, token: Token, parseNode: ParseNode): Node {
  if (token.kind !== 'symbol' || token.text !== '(') {
    throw reader.error(token, `expected a value or a condition, found ${describeToken(token)}.`);
  }
  const node = parseNode(reader, POWER.or);
  reader.expectSymbol(')');
  return node;
}

function parseWord(reader: TokenReader, token: Token, parseNode: ParseNode): Node {
  const { at } = token;
  const word = token.text.toUpperCase();
  if (word === 'NULL') return { kind: 'constant', value: { type: 'null' }, at };
  if (word === 'TRUE' || word === 'FALSE') {
    return { kind: 'constant', value: { type: 'boolean', value: word === 'TRUE' }, at };
  }
  if (word === 'EXISTS') return parseExists(reader, token, parseNode);
  if (RESERVED.has(word)) throw reservedError(reader, token);
  const next = reader.peek();
  const isCall = next.kind === 'symbol' && next.text === '(';
  return isCall ? parseFunction(reader, token, parseNode) : parseProperty(reader, token);
}

function reservedError(reader: TokenReader, token: Token): Error {
  return reader.error(
    token,
    `expected a value or a condition, found the reserved word ${describeToken(token)}; a property of that name is written [${token.text}].`,
  );
}

function parseExists(reader: TokenReader, token: Token, parseNode: ParseNode): Predicate {
  reader.expectSymbol('(');
  const inner = reader.peek();
  const operand = parseNode(reader, POWER.additive);
  if (operand.kind !== 'property' && operand.kind !== 'propertyByName') {
    throw reader.error(inner, `EXISTS takes the name of a property, not ${describeToken(inner)}.`);
  }
  reader.expectSymbol(')');
  return { kind: 'exists', operand, at: token.at };
}

/** newid(), property(name) and p(name) (semantics R9). Without parentheses these words are ordinary names. */
function parseFunction(reader: TokenReader, token: Token, parseNode: ParseNode): Expression {
  const { at } = token;
  const word = token.text.toLowerCase();
  reader.expectSymbol('(');
  if (word === 'newid') {
    reader.expectSymbol(')');
    return { kind: 'newId', at };
  }
  if (word !== 'property' && word !== 'p') {
    throw reader.error(
      token,
      `there is no function ${describeToken(token)}; the functions are newid(), property(name) and p(name).`,
    );
  }
  const inner = reader.peek();
  const name = parseNode(reader, POWER.additive);
  if (isPredicate(name)) throw reader.error(inner, 'the name of a property must be a value.');
  reader.expectSymbol(')');
  return { kind: 'propertyByName', name, at };
}

/** `name`, `sys.name` or `user.name`; each part may be delimited (semantics #110, R7). */
function parseProperty(reader: TokenReader, token: Token): PropertyNode {
  const { at } = token;
  if (!reader.takeSymbol('.')) return { kind: 'property', scope: 'user', name: token.text, at };

  const scope = token.text.toLowerCase();
  if (scope !== 'sys' && scope !== 'user') {
    throw reader.error(
      token,
      `${describeToken(token)} is no scope; the scopes are sys and user, and a name with a dot is written in [ ].`,
    );
  }
  const name = reader.peek();
  if (name.kind === 'word' && RESERVED.has(name.text.toUpperCase())) {
    throw reservedError(reader, name);
  }
  if (name.kind !== 'word' && name.kind !== 'name') throw reader.expected('the name of a property');
  reader.take();
  return { kind: 'property', scope, name: name.text, at };
}
