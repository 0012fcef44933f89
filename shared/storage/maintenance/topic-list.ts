import type { Entity } from '../../domain/entities/entity.ts';
import { allTopicsListed, topicListPut } from '../entities/entity-lists.ts';
import { topicListEntry, topLevelKey } from '../schema/entity-keys.ts';
import type { SweepDependencies } from './sweep-run.ts';

/**
 * Puts a topic that an earlier version created into the list of topics, unless it was removed. A read unit if it is
 * there already.
 */
export async function listTopic(
  { documents, namespace }: SweepDependencies,
  topic: Entity,
): Promise<void> {
  if (topic.description.kind !== 'topic') return;
  if ((await documents.get(topicListEntry(namespace, topic.key))) !== undefined) return;
  await documents.transact([
    {
      ConditionCheck: {
        TableName: documents.name,
        Key: topLevelKey(namespace, topic.key),
        ConditionExpression: '#id = :id',
        ExpressionAttributeNames: { '#id': 'id' },
        ExpressionAttributeValues: { ':id': topic.id },
      },
    },
    ...topicListPut(documents.name, namespace, topic),
  ]);
}

/** Notes that the list of topics has all of them, once each topic was visited. One write unit. */
export async function completeTopicList({
  documents,
  namespace,
}: SweepDependencies): Promise<void> {
  await documents.put({ ...allTopicsListed(namespace) });
}
