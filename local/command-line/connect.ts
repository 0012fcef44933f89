import type { ClientPath } from '../../client/entity-path.ts';
import { type Described, describe } from '../../client/management.ts';
import { NamespaceClient } from '../../client/namespace-client.ts';
import { parseConnectionString } from '../../shared/auth/connection-string.ts';
import { UsageError } from '../startup-error.ts';
import { type CommonOptions, Context } from './context.ts';
import type { Io } from './io.ts';

/** The variable that names the namespace if `--to` does not. */
export const CONNECTION_VARIABLE = 'DYNABUS_CONNECTION_STRING';

/** The namespace that a command is for. Throws UsageError, and ConnectionStringError for an unreadable string. */
export function connect(io: Io, options: CommonOptions): Context {
  const text = options.to ?? (io.env[CONNECTION_VARIABLE] || undefined);
  if (text === undefined) {
    throw new UsageError(
      `No namespace is given: pass its connection string with --to, or set ${CONNECTION_VARIABLE}. A local namespace prints its connection string when it starts.`,
    );
  }
  return new Context(new NamespaceClient(parseConnectionString(text)), io, options);
}

/**
 * Describes the queue or subscription of a path. Throws UsageError for a topic, whose messages are in its
 * subscriptions, RefusalError and UnreachableError.
 */
export async function describeQueue(
  { client }: Context,
  { entity }: ClientPath,
): Promise<Described | undefined> {
  const described = await describe(client, entity);
  if (described?.kind !== 'TopicDescription') return described;
  throw new UsageError(
    `${entity} is a topic, whose messages are in its subscriptions: name one, such as ${entity}/subscriptions/NAME. dynabus list ${entity} shows them.`,
  );
}
