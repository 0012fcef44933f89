/** An authorization rule of a queue or topic. */
export interface RuleOfEntity {
  /** The path of the queue or topic, in any spelling. */
  readonly entity: string;
  readonly keyName: string;
}

/**
 * The name of the parameter that keeps the connection string of a declared rule. `prefix` = that of the broker. Names
 * of rules have no slash, so no two rules share a parameter.
 */
export function keyParameterName(prefix: string, { entity, keyName }: RuleOfEntity): string {
  return `${prefix}/${entity.toLowerCase()}/${keyName}`;
}
