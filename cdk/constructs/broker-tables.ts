import { RemovalPolicy } from 'aws-cdk-lib';
import {
  AttributeType,
  BillingMode,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import {
  GARBAGE_AFTER,
  MESSAGES_STREAM,
  PARTITION_KEY,
  SORT_KEY,
} from '../../shared/storage/schema/tables.ts';
import type { BrokerSettings } from '../broker-settings.ts';
import { effectiveGrant } from '../effective-grant.ts';
import { DIRECT_RIGHTS, STREAM_RIGHTS } from '../functions.ts';

/** The two tables of a broker, in the shape that shared/storage expects. */
export class BrokerTables extends Construct {
  readonly entities: Table;
  readonly messages: Table;
  readonly #settings: BrokerSettings;

  constructor(scope: Construct, id: string, settings: BrokerSettings) {
    super(scope, id);
    this.#settings = settings;
    this.entities = brokerTable(this, 'Entities', settings);
    const stream = needsStream(settings)
      ? StreamViewType[MESSAGES_STREAM.StreamViewType]
      : undefined;
    this.messages = brokerTable(this, 'Messages', settings, stream);
  }

  /** What a waiting process needs to read the stream of the messages table, by ARN; nothing without `streamWakeUps`. */
  get streamRights(): readonly (readonly [arn: string, actions: readonly string[]])[] {
    const { tableArn, tableStreamArn } = this.messages;
    if (tableStreamArn === undefined || !this.#settings.streamWakeUps) return [];
    return [
      [tableStreamArn, STREAM_RIGHTS.stream],
      [tableArn, STREAM_RIGHTS.table],
    ];
  }
}

/**
 * Allows what a process needs that serves AMQP from the tables. `at` = the path of the broker, for the sentence. Throws
 * SettingsError if the grant would give nothing.
 */
export function grantDirect(at: string, grantee: IGrantable, tables: BrokerTables): Grant {
  const rights = [
    [tables.entities.tableArn, DIRECT_RIGHTS.entities],
    [tables.messages.tableArn, DIRECT_RIGHTS.messages],
    ...tables.streamRights,
  ] as const;
  const grants = rights.map(([arn, actions]) =>
    Grant.addToPrincipal({ grantee, actions: [...actions], resourceArns: [arn] }),
  );
  return effectiveGrant(at, grantee, combined(grants));
}

function combined(grants: readonly Grant[]): Grant {
  return grants.reduce((all, one) => all.combine(one));
}

/** Whether something reads the stream of the messages table. */
function needsStream({ streamWakeUps, push }: BrokerSettings): boolean {
  return streamWakeUps || push !== false;
}

function brokerTable(
  scope: Construct,
  id: string,
  settings: BrokerSettings,
  stream?: StreamViewType,
): Table {
  return new Table(scope, id, {
    ...(stream === undefined ? {} : { stream }),
    partitionKey: { name: PARTITION_KEY, type: AttributeType.STRING },
    sortKey: { name: SORT_KEY, type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    timeToLiveAttribute: GARBAGE_AFTER,
    encryption: TableEncryption.AWS_MANAGED,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: settings.pointInTimeRecovery },
    deletionProtection: settings.keepData,
    removalPolicy: settings.keepData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
  });
}
