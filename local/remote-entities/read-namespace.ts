import type { Described } from '../../client/management.ts';
import type { RuleInput } from '../../shared/broker/ports/management.ts';
import type { EntityDescription } from '../../shared/domain/entities/descriptions.ts';
import { present } from '../../shared/domain/present.ts';
import { inParallel } from '../../shared/domain/turns/in-parallel.ts';
import type {
  ExportedEntity,
  ExportedNamespace,
  ExportedSubscription,
  ExportedTopic,
} from '../config/to-config.ts';
import type { RemoteEntities } from './remote-entities.ts';

/** Topics that are read at the same time; the requests of all together have their own bound. */
const TOPICS_MAX = 16;
const RULES_PAGE = 100;

/**
 * Reads all entities of a namespace with their rules and consumers, all in the order of their names. Throws as
 * `RemoteEntities`.
 */
export async function readNamespace(remote: RemoteEntities): Promise<ExportedNamespace> {
  const [queues, topics, consumers] = await Promise.all([
    remote.list('$Resources/Queues'),
    remote.list('$Resources/Topics'),
    remote.allConsumers(),
  ]);
  const withConsumers = <One extends ExportedEntity<EntityDescription>>(one: One, path: string) => {
    return { ...one, ...present({ consumers: consumers.get(path.toLowerCase()) }) };
  };
  const all = await mapped(topics, (entry) => readTopic(remote, entry));
  return {
    queues: queues
      .flatMap((entry) => ofKind(remote, entry, entry.title, 'queue'))
      .map((queue) => withConsumers(queue, queue.name)),
    topics: all.map((topic) => ({
      ...topic,
      subscriptions: topic.subscriptions.map((one) =>
        withConsumers(one, `${topic.name}/Subscriptions/${one.name}`),
      ),
    })),
  };
}

async function readTopic(
  remote: RemoteEntities,
  entry: Described,
): Promise<readonly ExportedTopic[]> {
  const within = `${entry.title}/Subscriptions`;
  const subscriptions = await mapped(await remote.list(within), (one) =>
    readSubscription(remote, one, `${within}/${one.title}`),
  );
  return ofKind(remote, entry, entry.title, 'topic').map((topic) => ({ ...topic, subscriptions }));
}

async function readSubscription(
  remote: RemoteEntities,
  entry: Described,
  path: string,
): Promise<readonly ExportedSubscription[]> {
  const rules: RuleInput[] = [];
  for (let more = true; more; ) {
    const page = await remote.rules.list(path, { skip: rules.length, top: RULES_PAGE });
    rules.push(...page.items.map(({ stored }) => stored.rule));
    more = page.more;
  }
  // The service lists rules by their creation, which an import does not repeat.
  const ordered = rules.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  return ofKind(remote, entry, path, 'subscription').map((one) => ({ ...one, rules: ordered }));
}

const keyOf = ({ name }: RuleInput) => name.toLowerCase();

/** The entity of an entry, whose kind its list tells. */
function ofKind<Kind extends EntityDescription['kind']>(
  remote: RemoteEntities,
  entry: Described,
  path: string,
  kind: Kind,
): readonly ExportedEntity<Extract<EntityDescription, { readonly kind: Kind }>>[] {
  const description = remote.read(entry, path);
  return isOfKind(description, kind) ? [{ name: entry.title, description }] : [];
}

function isOfKind<Kind extends EntityDescription['kind']>(
  description: EntityDescription,
  kind: Kind,
): description is Extract<EntityDescription, { readonly kind: Kind }> {
  return description.kind === kind;
}

/** Reads something for each entry, some at the same time, and keeps the order. */
async function mapped<T>(
  entries: readonly Described[],
  read: (entry: Described) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const found = new Map<Described, readonly T[]>();
  await inParallel(entries, TOPICS_MAX, async (entry) => {
    found.set(entry, await read(entry));
  });
  return entries.flatMap((entry) => found.get(entry) ?? []);
}
