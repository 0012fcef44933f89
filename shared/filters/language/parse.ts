import { FILTER_LIMITS } from '../filter-limits.ts';
import { parsePrefix } from './parse-prefix.ts';
import {
  type ArithmeticOperator,
  type ComparisonOperator,
  type Expression,
  isPredicate,
  POWER,
  type Predicate,
  type Statement,
} from './syntax.ts';
import { TokenReader } from './token-reader.ts';
import { describeToken, type Token } from './tokens.ts';

type Node = Predicate | Expression;

const INT64_MIN_DIGITS = '9223372036854775808';

/**
 * Parses a filter. It accepts exactly the grammar of the service (semantics R4): a value alone (`flag`, `1`)
 * and BETWEEN are errors (semantics R5). Throws FilterError with the position and what was expected there.
 */
export function parsePredicate(text: string): Predicate {
  const reader = new TokenReader(text);
  const node = parseNode(reader, POWER.or);
  const next = reader.peek();
  if (!isPredicate(node)) {
    throw reader.error(
      next,
      `expected a comparison, found ${describeToken(next)}; a value is no condition, write for instance flag = TRUE.`,
    );
  }
  if (next.kind !== 'end') throw reader.expected('AND, OR or the end of the text');
  return node;
}

/**
 * Parses an action: SET and REMOVE statements, each with an optional semicolon (semantics R21). Throws
 * FilterError, also for too many statements.
 */
export function parseAction(text: string): readonly Statement[] {
  const reader = new TokenReader(text);
  const statements: Statement[] = [];
  do {
    if (statements.length === FILTER_LIMITS.statements) {
      throw reader.error(
        reader.peek(),
        `an action may have ${FILTER_LIMITS.statements} statements at most.`,
      );
    }
    statements.push(parseStatement(reader));
    if (!reader.takeSymbol(';') && !startsStatement(reader.peek())) {
      throw reader.expected("';', SET, REMOVE or the end of the text");
    }
  } while (reader.peek().kind !== 'end');
  return statements;
}

function startsStatement(token: Token): boolean {
  return token.kind === 'end' || (token.kind === 'word' && /^(?:set|remove)$/i.test(token.text));
}

function parseStatement(reader: TokenReader): Statement {
  const { at } = reader.peek();
  if (reader.takeWord('REMOVE')) return { kind: 'remove', target: parseTarget(reader), at };
  if (!reader.takeWord('SET')) throw reader.expected('SET or REMOVE');
  const target = parseTarget(reader);
  reader.expectSymbol('=');
  const first = reader.peek();
  const value = asValue(reader, first, parseNode(reader, POWER.additive), 'what SET assigns');
  return { kind: 'set', target, value, at };
}

function parseTarget(reader: TokenReader): Extract<Expression, { kind: 'property' }> {
  const token = reader.peek();
  const node = parsePrefix(reader, parseNode);
  if (node.kind === 'property') return node;
  throw reader.error(token, `expected the name of a property, found ${describeToken(token)}.`);
}

/**
 * A Pratt parser: reads a node and continues while the next operator binds at least as tightly as `power`.
 */
function parseNode(reader: TokenReader, power: number): Node {
  reader.enter();
  let left = parsePrefixOrSign(reader);
  for (;;) {
    const infix = infixAt(reader);
    if (infix === undefined || infix.power < power) break;
    left = parseInfix(reader, left, infix);
  }
  reader.leave();
  return left;
}

function parsePrefixOrSign(reader: TokenReader): Node {
  const token = reader.peek();
  if (reader.takeWord('NOT')) {
    const operand = asCondition(
      reader,
      token,
      parseNode(reader, POWER.not),
      'what NOT turns round',
    );
    return { kind: 'not', operand, at: token.at };
  }
  const operator = reader.takeSymbol('-') ? '-' : reader.takeSymbol('+') ? '+' : undefined;
  if (operator === undefined) return parsePrefix(reader, parseNode);

  const next = reader.peek();
  // The smallest Int64: its digits without the sign do not fit into an Int64.
  const smallest = operator === '-' && next.kind === 'integer' && next.text === INT64_MIN_DIGITS;
  if (smallest) reader.take();
  const node: Node = smallest
    ? { kind: 'constant', value: { type: 'long', value: BigInt(next.text) }, at: next.at }
    : parseNode(reader, POWER.sign);
  const operand = asValue(reader, token, node, `what '${operator}' stands before`);
  return { kind: 'sign', operator, operand, at: token.at };
}

/** An operator between two operands: its text, its binding power, and the node that it makes. */
interface Infix {
  readonly sign: string;
  readonly power: number;
  readonly makes: 'logic' | 'comparison' | 'arithmetic' | 'is' | 'in' | 'like';
}

const { or, and, comparison, additive, multiplicative } = POWER;

const INFIXES: ReadonlyMap<string, Infix> = new Map(
  (
    [
      ['OR', or, 'logic'],
      ['AND', and, 'logic'],
      ['IS', comparison, 'is'],
      ['IN', comparison, 'in'],
      ['LIKE', comparison, 'like'],
      ...['=', '<>', '!=', '<', '<=', '>', '>='].map((sign) => [sign, comparison, 'comparison']),
      ...['+', '-'].map((sign) => [sign, additive, 'arithmetic']),
      ...['*', '/', '%'].map((sign) => [sign, multiplicative, 'arithmetic']),
    ] as readonly (readonly [string, number, Infix['makes']])[]
  ).map(([sign, power, makes]) => [sign, { sign, power, makes }]),
);

/** The next operator, if any. NOT counts only as a part of NOT IN and NOT LIKE. */
function infixAt(reader: TokenReader): Infix | undefined {
  const token = reader.peek();
  if (token.kind === 'symbol') return INFIXES.get(token.text);
  if (token.kind !== 'word') return undefined;
  const word = token.text.toUpperCase();
  if (word === 'BETWEEN') {
    throw reader.error(token, 'BETWEEN is not part of the language; write x >= 1 AND x <= 2.');
  }
  if (word !== 'NOT') return INFIXES.get(word);
  const negated = reader.peek(1);
  const infix = negated.kind === 'word' ? INFIXES.get(negated.text.toUpperCase()) : undefined;
  if (infix?.makes === 'in' || infix?.makes === 'like') return infix;
  throw reader.error(negated, `expected IN or LIKE after NOT, found ${describeToken(negated)}.`);
}

function parseInfix(reader: TokenReader, left: Node, infix: Infix): Node {
  const negated = reader.takeWord('NOT');
  const token = reader.take();
  const { sign, power, makes } = infix;
  const { at } = token;
  if (makes === 'logic') {
    const first = asCondition(reader, token, left, `the left side of ${sign}`);
    // The higher power on the right side makes the operator left-associative.
    const right = parseNode(reader, power + 1);
    const second = asCondition(reader, token, right, `the right side of ${sign}`);
    return { kind: sign === 'AND' ? 'and' : 'or', left: first, right: second, at };
  }
  const operand = asValue(reader, token, left, `the left side of ${sign}`);
  if (makes === 'is') return parseIs(reader, token, operand);
  if (makes === 'in') return { kind: 'in', operand, list: parseList(reader), negated, at };
  if (makes === 'like') return parseLike(reader, operand, { negated, token });

  const right = asValue(reader, token, parseNode(reader, power + 1), `the right side of ${sign}`);
  if (makes === 'arithmetic') {
    return { kind: 'arithmetic', operator: sign as ArithmeticOperator, left: operand, right, at };
  }
  const operator = (sign === '!=' ? '<>' : sign) as ComparisonOperator;
  return { kind: 'comparison', operator, left: operand, right, at };
}

function parseIs(reader: TokenReader, token: Token, operand: Expression): Predicate {
  const negated = reader.takeWord('NOT');
  if (!reader.takeWord('NULL')) throw reader.expected(negated ? 'NULL' : 'NULL or NOT NULL');
  if (operand.kind === 'property' || operand.kind === 'propertyByName') {
    return { kind: 'isNull', operand, negated, at: token.at };
  }
  throw reader.error(token, 'IS NULL can only be asked of a property.');
}

function parseList(reader: TokenReader): readonly Expression[] {
  reader.expectSymbol('(');
  const list: Expression[] = [];
  do {
    const token = reader.peek();
    const node = parseNode(reader, POWER.additive);
    list.push(asValue(reader, token, node, 'an element of IN'));
  } while (reader.takeSymbol(','));
  reader.expectSymbol(')');
  return list;
}

function parseLike(
  reader: TokenReader,
  operand: Expression,
  { negated, token }: { readonly negated: boolean; readonly token: Token },
): Predicate {
  const side = parseNode(reader, POWER.additive);
  const pattern = asValue(reader, token, side, 'the pattern of LIKE');
  const like = { kind: 'like', operand, pattern, negated, at: token.at } as const;
  if (!reader.takeWord('ESCAPE')) return like;
  const escapeCharacter = asValue(
    reader,
    token,
    parseNode(reader, POWER.additive),
    'what ESCAPE names',
  );
  return { ...like, escape: escapeCharacter };
}

function asValue(reader: TokenReader, at: Token, node: Node, what: string): Expression {
  if (!isPredicate(node)) return node;
  throw reader.error(at, `${what} must be a value, not a condition.`);
}

function asCondition(reader: TokenReader, at: Token, node: Node, what: string): Predicate {
  if (isPredicate(node)) return node;
  throw reader.error(
    at,
    `${what} must be a condition, not a value; write for instance flag = TRUE.`,
  );
}
