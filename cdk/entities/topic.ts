import type { Construct } from 'constructs';
import type { IBroker } from '../constructs/broker-ref.ts';
import { dependByName, TopicBase } from './entity-base.ts';
import type { TopicProps } from './entity-props.ts';
import type { ITopic } from './entity-ref.ts';
import { declareEntity } from './entity-resource.ts';
import { brokerFor, requireFreeId } from './find-scope.ts';
import { namedEntity } from './named-entity.ts';

/**
 * A topic that deployment creates, updates and deletes: `new Topic(bus, 'events')`. Settings that are left out have the
 * defaults of Service Bus. A change of a setting that is fixed at creation is refused at deployment: another name
 * replaces the topic and its subscriptions. Throws an Error with a line for each fault.
 */
export class Topic extends TopicBase {
  readonly topicName: string;

  /** A topic that another app declares, or somebody creates by hand. Nothing is created. */
  static fromName(broker: IBroker, topicName: string): ITopic {
    return namedEntity(
      broker,
      'Topic',
      topicName,
      (scope, id) => new NamedTopic(scope, id, broker, topicName),
    );
  }

  constructor(scope: Construct, id: string, props: TopicProps = {}) {
    const { topicName = id, ...settings } = props;
    requireFreeId(scope, id, 'topicName');
    const broker = brokerFor(scope, id, props.broker);
    super(scope, id, { broker, entityPath: topicName });
    this.topicName = topicName;
    this.dependOn(
      declareEntity(this, { kind: 'topic', broker, name: topicName, props: { ...settings } }),
    );
  }
}

class NamedTopic extends TopicBase {
  readonly topicName: string;

  constructor(scope: Construct, id: string, broker: IBroker, topicName: string) {
    super(scope, id, { broker, entityPath: topicName });
    this.topicName = topicName;
    dependByName(this);
  }
}
