import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { GARBAGE_AFTER, PARTITION_KEY, SORT_KEY } from '../../shared/storage/schema/tables.ts';
import type { BrokerSettings } from '../broker-settings.ts';

/** The two tables of a broker, in the shape that shared/storage expects. */
export class BrokerTables extends Construct {
  readonly entities: Table;
  readonly messages: Table;

  constructor(scope: Construct, id: string, settings: BrokerSettings) {
    super(scope, id);
    this.entities = brokerTable(this, 'Entities', settings);
    this.messages = brokerTable(this, 'Messages', settings);
  }
}

function brokerTable(scope: Construct, id: string, settings: BrokerSettings): Table {
  return new Table(scope, id, {
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
