import { Stack } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

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
