import type { Construct } from 'constructs';
import type { IBroker } from '../constructs/broker-ref.ts';
import { dependByName, QueueBase } from './entity-base.ts';
import type { QueueProps } from './entity-props.ts';
import type { IQueue } from './entity-ref.ts';
import { declareEntity } from './entity-resource.ts';
import { brokerFor, requireFreeId } from './find-scope.ts';
import { namedEntity } from './named-entity.ts';

/**
 * A queue that deployment creates, updates and deletes: `new Queue(bus, 'Orders')`. Settings that are left out have the
 * defaults of Service Bus. A change of a setting that is fixed at creation is refused at deployment: another name
 * replaces the queue. Throws an Error with a line for each fault.
 */
export class Queue extends QueueBase {
  readonly queueName: string;

  /** A queue that another app declares, or somebody creates by hand. Nothing is created. */
  static fromName(broker: IBroker, queueName: string): IQueue {
    return namedEntity(
      broker,
      'Queue',
      queueName,
      (scope, id) => new NamedQueue(scope, id, broker, queueName),
    );
  }

  constructor(scope: Construct, id: string, props: QueueProps = {}) {
    const { queueName = id, ...settings } = props;
    requireFreeId(scope, id, 'queueName');
    const broker = brokerFor(scope, id, props.broker);
    super(scope, id, { broker, entityPath: queueName });
    this.queueName = queueName;
    this.dependOn(
      declareEntity(this, { kind: 'queue', broker, name: queueName, props: { ...settings } }),
    );
  }
}

class NamedQueue extends QueueBase {
  readonly queueName: string;

  constructor(scope: Construct, id: string, broker: IBroker, queueName: string) {
    super(scope, id, { broker, entityPath: queueName });
    this.queueName = queueName;
    dependByName(this);
  }
}
