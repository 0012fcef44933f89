/** A node's offset in the text: that of its operator if it has one, else that of its first character. */
interface Node {
  readonly at: number;
}

/** The types of literals: Int64, double, boolean, text, NULL (semantics R6). */
export type Literal =
  | { readonly type: 'null' }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'long'; readonly value: bigint }
  | { readonly type: 'double'; readonly value: number };

/** Arithmetic operators; `+` also joins texts. */
export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%';

/** Comparison operators. `!=` is parsed as `<>`. */
export type ComparisonOperator = '=' | '<>' | '<' | '<=' | '>' | '>=';

/** A property with a literal name; without a scope it is a user property. */
export interface PropertyNode extends Node {
  readonly kind: 'property';
  readonly scope: 'sys' | 'user';
  readonly name: string;
}

/** `property(name)` or `p(name)`: a property whose name is computed. */
export interface PropertyByNameNode extends Node {
  readonly kind: 'propertyByName';
  readonly name: Expression;
}

/** An operand of IS NULL and EXISTS. */
export type PropertyReference = PropertyNode | PropertyByNameNode;

/** A node that evaluates to a value. */
export type Expression =
  | PropertyReference
  | (Node & { readonly kind: 'constant'; readonly value: Literal })
  | (Node & { readonly kind: 'parameter'; readonly name: string })
  | (Node & { readonly kind: 'newId' })
  | (Node & { readonly kind: 'sign'; readonly operator: '+' | '-'; readonly operand: Expression })
  | (Node & {
      readonly kind: 'arithmetic';
      readonly operator: ArithmeticOperator;
      readonly left: Expression;
      readonly right: Expression;
    });

/** A node that evaluates to true, false or unknown. */
export type Predicate =
  | (Node & { readonly kind: 'not'; readonly operand: Predicate })
  | (Node & { readonly kind: 'and' | 'or'; readonly left: Predicate; readonly right: Predicate })
  | (Node & {
      readonly kind: 'comparison';
      readonly operator: ComparisonOperator;
      readonly left: Expression;
      readonly right: Expression;
    })
  | (Node & {
      readonly kind: 'isNull';
      readonly operand: PropertyReference;
      readonly negated: boolean;
    })
  | (Node & { readonly kind: 'exists'; readonly operand: PropertyReference })
  | (Node & {
      readonly kind: 'in';
      readonly operand: Expression;
      readonly list: readonly Expression[];
      readonly negated: boolean;
    })
  | (Node & {
      readonly kind: 'like';
      readonly operand: Expression;
      readonly pattern: Expression;
      readonly escape?: Expression;
      readonly negated: boolean;
    });

/** A statement of an action (semantics R21). */
export type Statement =
  | (Node & { readonly kind: 'set'; readonly target: PropertyNode; readonly value: Expression })
  | (Node & { readonly kind: 'remove'; readonly target: PropertyNode });

const PREDICATES: ReadonlySet<string> = new Set<Predicate['kind']>([
  'not',
  'and',
  'or',
  'comparison',
  'isNull',
  'exists',
  'in',
  'like',
]);

/** Whether a node is a condition rather than a value; parentheses may contain either. */
export function isPredicate(node: Predicate | Expression): node is Predicate {
  return PREDICATES.has(node.kind);
}

/** The binding power of operators, loosest first (semantics R10). */
export const POWER = {
  or: 1,
  and: 2,
  not: 3,
  comparison: 4,
  additive: 5,
  multiplicative: 6,
  sign: 7,
} as const;
