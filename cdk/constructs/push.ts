import { Duration } from 'aws-cdk-lib';
import { Policy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import {
  EventSourceMapping,
  FilterCriteria,
  FilterRule,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { VARIABLES } from '../../shared/app/variables.ts';
import { CONSUMER_MARK, CONSUMER_MARKS } from '../../shared/storage/schema/consumer-marks.ts';
import type { BrokerSettings } from '../broker-settings.ts';
import { STREAM_SOURCE_RIGHTS } from '../functions.ts';
import type { PushSettings } from '../push-settings.ts';
import { BrokerFunction } from './broker-function.ts';
import type { BrokerTables } from './broker-tables.ts';

/** The properties of what pushes. */
export interface PushProps {
  readonly tables: BrokerTables;
  readonly settings: BrokerSettings;
  readonly push: PushSettings;
}

/** As long as a function may run: a worker ends earlier if no messages are left, and else starts another one. */
const PUSH_TIMEOUT = Duration.minutes(15);
/** A start that Lambda could not carry out by then is dropped: the sweep looks at each consumer once an hour. */
const START_AGE_MAX = Duration.hours(1);
/** For a batch of the stream that wakes as many consumers as it has items. */
const WAKE_TIMEOUT = Duration.minutes(1);
/** One invocation reads the states of a queue's consumers once, however many of the items are of the queue. */
const BATCH_SIZE = 100;
/** Older items are dropped, for the same reason as above. */
const RECORD_AGE_MAX = Duration.hours(1);

/**
 * Pushes messages to the targets of consumers: the function `wake`, which Lambda calls with items of the messages
 * table's stream that have the mark of consumers, and the function `push`, which it starts. Without such items, nothing
 * runs.
 */
export class Push extends Construct {
  readonly wake: BrokerFunction;
  readonly push: BrokerFunction;
  /** The role by which functions are called. */
  readonly roleArn: string;
  /** The ARNs of functions that anybody with Manage may name as a target. */
  readonly targets: readonly string[];

  constructor(scope: Construct, id: string, props: PushProps) {
    super(scope, id);
    this.targets = props.push.targets;
    this.push = this.#createPush(props);
    this.roleArn = this.#allowInvocations();
    this.wake = this.#createWake(props);
  }

  /** The name of the function that pushes. */
  get functionName(): string {
    return this.push.functionName;
  }

  /** Allows a function to start workers. */
  allowStart(starter: BrokerFunction): void {
    starter.allow(['lambda:InvokeFunction'], this.push.functionArn);
  }

  #createPush({ tables, settings }: PushProps): BrokerFunction {
    const push = new BrokerFunction(this, 'Worker', {
      name: 'push',
      description: 'Pushes the messages of a consumer to its target',
      timeout: PUSH_TIMEOUT,
      tables,
      settings,
      environment: {
        [VARIABLES.namespace]: settings.namespace,
        [VARIABLES.tier]: settings.tier,
      },
      // Each worker of a busy consumer starts the next one. It ends with the messages, and is one at a time.
      mayInvokeItself: true,
    });
    push.configureAsyncInvoke({ retryAttempts: 2, maxEventAge: START_AGE_MAX });
    return push;
  }

  /** By a policy of its own: the function waits for that of its role, which therefore cannot name the function. */
  #allowInvocations(): string {
    const { role } = this.push;
    if (role === undefined) throw new Error('The function that pushes has no role.');
    const resources = [
      this.push.functionArn,
      // A target may be a version or an alias.
      ...this.targets.flatMap((arn) => [arn, `${arn}:*`]),
    ];
    new Policy(this, 'Invocations', {
      statements: [new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources })],
      roles: [role],
    });
    return role.roleArn;
  }

  #createWake({ tables, settings }: PushProps): BrokerFunction {
    const wake = new BrokerFunction(this, 'Wake', {
      name: 'wake',
      description: 'Starts workers for consumers that have messages',
      timeout: WAKE_TIMEOUT,
      tables,
      settings,
      environment: {
        [VARIABLES.namespace]: settings.namespace,
        [VARIABLES.pushFunction]: this.push.functionName,
      },
    });
    this.allowStart(wake);
    const { tableStreamArn } = tables.messages;
    if (tableStreamArn === undefined) throw new Error('The messages table has no stream.');
    wake.allow(STREAM_SOURCE_RIGHTS.stream, tableStreamArn);
    wake.allow(STREAM_SOURCE_RIGHTS.everything, '*');
    new EventSourceMapping(this, 'Stream', {
      target: wake,
      eventSourceArn: tableStreamArn,
      // From now on could miss items of the first minutes. Items of the hour before are few, and wake nobody in vain.
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: BATCH_SIZE,
      maxRecordAge: RECORD_AGE_MAX,
      filters: [filterOf(['INSERT'], 'stored'), filterOf(['INSERT', 'MODIFY'], 'ready')],
    });
    return wake;
  }
}

/** What tells a process with management which targets consumers may have; nothing where nobody pushes. */
export function pushVariables(push: Push | undefined): Readonly<Record<string, string>> {
  if (push === undefined) return {};
  return {
    [VARIABLES.pushFunction]: push.functionName,
    ...(push.targets.length > 0 && { [VARIABLES.pushTargets]: push.targets.join(' ') }),
  };
}

/** Selects items with a mark. */
function filterOf(events: readonly string[], mark: keyof typeof CONSUMER_MARKS) {
  return FilterCriteria.filter({
    eventName: FilterRule.or(...events),
    dynamodb: { NewImage: { [CONSUMER_MARK]: { N: FilterRule.isEqual(CONSUMER_MARKS[mark]) } } },
  });
}
