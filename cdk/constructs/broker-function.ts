import { type Duration, RemovalPolicy } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  ApplicationLogLevel,
  Architecture,
  Function as LambdaFunction,
  LoggingFormat,
  RecursiveLoop,
  Runtime,
  SystemLogLevel,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { VARIABLES } from '../../shared/app/variables.ts';
import type { BrokerSettings } from '../broker-settings.ts';
import { type FunctionName, TABLE_RIGHTS } from '../functions.ts';
import { pushSettingsOf } from '../push-settings.ts';
import type { BrokerTables } from './broker-tables.ts';
import { functionCode } from './function-code.ts';

/** The properties of one function. */
export interface BrokerFunctionProps {
  readonly name: FunctionName;
  readonly description: string;
  readonly timeout: Duration;
  readonly tables: BrokerTables;
  readonly settings: BrokerSettings;
  /** Environment variables in addition to the table names. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether it may invoke itself any number of times. Default: Lambda stops it after 16 times. */
  readonly mayInvokeItself?: boolean;
}

const SYSTEM_LOG_LEVELS = {
  warn: SystemLogLevel.WARN,
  info: SystemLogLevel.INFO,
  debug: SystemLogLevel.DEBUG,
} as const satisfies Record<BrokerSettings['platformLogs'], SystemLogLevel>;

/** A Lambda function with bundled code, log retention and an explicit list of rights. */
export class BrokerFunction extends LambdaFunction {
  constructor(scope: Construct, id: string, props: BrokerFunctionProps) {
    const { name, settings, tables } = props;
    const { memoryMb, reserved } = sizeOf(name, settings);
    const logGroup = new LogGroup(scope, `${id}Logs`, {
      retention: settings.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    super(scope, id, {
      description: props.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      handler: 'index.handler',
      code: functionCode(name),
      ...(memoryMb !== undefined && { memorySize: memoryMb }),
      timeout: props.timeout,
      tracing: settings.tracing ? Tracing.ACTIVE : Tracing.DISABLED,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      // Alarms count our log lines, each of which Lambda treats as INFO.
      applicationLogLevelV2: ApplicationLogLevel.INFO,
      systemLogLevelV2: SYSTEM_LOG_LEVELS[settings.platformLogs],
      // A role of its own, because the usual managed policy may write to every log group of the account.
      role: new Role(scope, `${id}Role`, {
        assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      }),
      environment: {
        [VARIABLES.entitiesTable]: tables.entities.tableName,
        [VARIABLES.messagesTable]: tables.messages.tableName,
        ...props.environment,
      },
      ...(props.mayInvokeItself === true && { recursiveLoop: RecursiveLoop.ALLOW }),
      ...(reserved === undefined ? {} : { reservedConcurrentExecutions: reserved }),
    });
    this.allow(['logs:CreateLogStream', 'logs:PutLogEvents'], logGroup.logGroupArn);
    this.allow(TABLE_RIGHTS[name].entities, tables.entities.tableArn);
    this.allow(TABLE_RIGHTS[name].messages, tables.messages.tableArn);
  }

  /** Grants these actions, if any, on this one resource. */
  allow(actions: readonly string[], resource: string): void {
    if (actions.length === 0) return;
    this.addToRolePolicy(new PolicyStatement({ actions: [...actions], resources: [resource] }));
  }
}

/** The memory of functions whose work no client waits for, MB. */
const DECLARE_MEMORY_MB = 512;
const WAKE_MEMORY_MB = 256;

function sizeOf(name: FunctionName, settings: BrokerSettings) {
  const { memoryMb, reservedConcurrency } = settings;
  if (name === 'declare') return { memoryMb: DECLARE_MEMORY_MB, reserved: undefined };
  if (name === 'wake') return { memoryMb: WAKE_MEMORY_MB, reserved: undefined };
  if (name === 'push') {
    return { memoryMb: pushSettingsOf(settings)?.memoryMb, reserved: undefined };
  }
  return { memoryMb: memoryMb[name], reserved: reservedConcurrency[name] };
}
