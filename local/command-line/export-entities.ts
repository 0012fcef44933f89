import { CONFIG_LIMITS } from '../../shared/config/config-limits.ts';
import type {
  QueueDescription,
  TopicDescription,
} from '../../shared/domain/entities/descriptions.ts';
import { type ExportedNamespace, toConfig } from '../config/to-config.ts';
import { readNamespace } from '../remote-entities/read-namespace.ts';
import { RemoteEntities } from '../remote-entities/remote-entities.ts';
import type { Context } from './context.ts';
import { numberText } from './table.ts';

/**
 * Reads the entities of the namespace as the file of the vendor's emulator, and says what the file lacks. `withKeys` =
 * whether shared access policies, with their keys, are in it. Throws RefusalError, UnreachableError.
 */
export async function exportEntities(context: Context, withKeys: boolean) {
  const found = await readNamespace(await RemoteEntities.open(context.client));
  const { queues, topics } = found;
  const subscriptions = topics.flatMap((topic) => topic.subscriptions);
  const count = queues.length + topics.length + subscriptions.length;
  if (count > CONFIG_LIMITS.entities) {
    await context.warn(
      `The file has ${numberText(count)} queues, topics and subscriptions. An import takes ${numberText(CONFIG_LIMITS.entities)}: divide the file.`,
    );
  }
  if (withKeys) return toConfig(found);
  const policies = [...queues, ...topics].flatMap((one) => one.description.authorizationRules);
  if (policies.length > 0) {
    const what = policies.length === 1 ? 'shared access policy' : 'shared access policies';
    await context.note(
      `Left out: ${numberText(policies.length)} ${what} of queues and topics. Add --keys to have them in the file, with their keys.`,
    );
  }
  return toConfig(withoutPolicies(found));
}

function withoutPolicies({ queues, topics }: ExportedNamespace): ExportedNamespace {
  const without = <D extends QueueDescription | TopicDescription>(description: D): D => ({
    ...description,
    authorizationRules: [],
  });
  return {
    queues: queues.map((one) => ({ ...one, description: without(one.description) })),
    topics: topics.map((one) => ({ ...one, description: without(one.description) })),
  };
}
