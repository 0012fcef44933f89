/** What a test, a program or a stack says of a rule. */

/** The value of an application property, or of a parameter of an expression. */
export type RuleValue = string | number | boolean | Date;

/** The filter and the action of a rule. Without a filter it selects every message. */
export interface RuleSettings {
  /** An SQL filter: `priority > 3`. Excludes `correlation`. */
  readonly sql?: string | Expression | undefined;
  /** A filter by equal properties. Excludes `sql`. */
  readonly correlation?: CorrelationFilter | undefined;
  /** What the rule changes in its copies of messages: `SET x = 1`. */
  readonly action?: string | Expression | undefined;
}

/** An SQL expression with the values of its parameters. */
export interface Expression {
  /** The text, in which `@name` is a parameter. */
  readonly expression: string;
  /** Values by name, without the `@`. */
  readonly parameters?: Readonly<Record<string, RuleValue>> | undefined;
}

/** The properties that a message must have, at least one. All must be equal; texts compare with their case. */
export interface CorrelationFilter {
  readonly contentType?: string | undefined;
  readonly correlationId?: string | undefined;
  readonly messageId?: string | undefined;
  readonly replyTo?: string | undefined;
  readonly replyToSessionId?: string | undefined;
  readonly sessionId?: string | undefined;
  /** The property that older clients call label. */
  readonly subject?: string | undefined;
  readonly to?: string | undefined;
  /** Application properties. */
  readonly properties?: Readonly<Record<string, RuleValue>> | undefined;
}
