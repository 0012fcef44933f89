import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { GARBAGE_AFTER, PARTITION_KEY, SORT_KEY } from '../../shared/storage/schema/tables.ts';
import type { BrokerSettings } from '../broker-settings.ts';
import { effectiveGrant } from '../effective-grant.ts';
import { DIRECT_RIGHTS } from '../functions.ts';

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

/**
 * Allows what a process needs that serves AMQP from the tables. `at` = the path of the broker, for the sentence. Throws
 * SettingsError if the grant would give nothing.
 */
export function grantDirect(at: string, grantee: IGrantable, tables: BrokerTables): Grant {
  const grants = (['entities', 'messages'] as const).map((name) =>
    Grant.addToPrincipal({
      grantee,
      actions: [...DIRECT_RIGHTS[name]],
      resourceArns: [tables[name].tableArn],
    }),
  );
  return effectiveGrant(at, grantee, combined(grants));
}

function combined(grants: readonly Grant[]): Grant {
  return grants.reduce((all, one) => all.combine(one));
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
