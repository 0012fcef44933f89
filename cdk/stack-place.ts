import { Stack, Token, TokenComparison } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';
import { SettingsError } from './setting-faults.ts';

/** The stack of a construct that has a name at synthesis; a nested one has none. */
export function outermostStack(construct: IConstruct): Stack {
  const stack = Stack.of(construct);
  return stack.nestedStackParent === undefined ? stack : outermostStack(stack.nestedStackParent);
}

/** The path of a construct in its stack, which stays if the stack moves in its app. */
export function pathInStack(construct: IConstruct): string {
  const { scopes } = construct.node;
  const inStack = scopes.slice(scopes.indexOf(outermostStack(construct)) + 1);
  return inStack.map(({ node }) => node.id).join('/');
}

/** An account and a region, either of which may be known at deployment only. */
interface Place {
  readonly account: string;
  readonly region: string;
}

/**
 * Throws SettingsError for a construct in a stack of another account or region than its broker, whose function the
 * deployment of the construct calls.
 */
export function requirePlaceOf(
  broker: IConstruct & { readonly entityServiceToken: string },
  construct: IConstruct,
): void {
  const { account, region } = placeOf(broker);
  const stack = Stack.of(construct);
  if (!differ(account, stack.account) && !differ(region, stack.region)) return;
  throw new SettingsError([
    `${construct.node.path}: Its stack is in account ${named(stack.account)} and region ${named(stack.region)}, but the broker in ${named(account)} and ${named(region)}: declare it in a stack of the broker's account and region.`,
  ]);
}

/** Where the function of a broker is, which may be one of another app. */
function placeOf(broker: IConstruct & { readonly entityServiceToken: string }): Place {
  const { entityServiceToken } = broker;
  if (Token.isUnresolved(entityServiceToken)) return Stack.of(broker);
  const [, , , region = '', account = ''] = entityServiceToken.split(':');
  return { account, region };
}

/** Whether two values differ for sure. */
export function differ(one: string, other: string): boolean {
  return Token.compareStrings(one, other) === TokenComparison.DIFFERENT;
}

function named(value: string): string {
  return Token.isUnresolved(value) ? 'that of the deployment' : value;
}
