import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { DockerImageAsset, Platform } from 'aws-cdk-lib/aws-ecr-assets';
import {
  AwsLogDriverMode,
  Capability,
  ContainerImage,
  CpuArchitecture,
  FargateTaskDefinition,
  LinuxParameters,
  LogDrivers,
  OperatingSystemFamily,
} from 'aws-cdk-lib/aws-ecs';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { DRAIN_NOTICE_MS, GATEWAY_VARIABLES, STOP_MS_MAX } from '../../gateway/variables.ts';
import { VARIABLES } from '../../shared/app/variables.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { AmqpSettings } from '../amqp-settings.ts';
import type { BrokerSettings } from '../broker-settings.ts';
import { DIRECT_RIGHTS } from '../functions.ts';
import type { BrokerTables } from './broker-tables.ts';
import { gatewayContext } from './function-code.ts';
import { type Push, pushVariables } from './push.ts';

/** The properties of a task: what it serves and its size. */
export interface GatewayTaskProps {
  readonly tables: BrokerTables;
  readonly rootKey: Secret;
  readonly settings: BrokerSettings;
  readonly amqp: AmqpSettings;
  /** What pushes messages; undefined = nothing does. */
  readonly push: Push | undefined;
}

export const CONTAINER_PORT = 5672;
/** As long as the vendor's service lets a receive wait; waiting costs nothing here. */
const RECEIVE_WAIT_MS_MAX = 60_000;
/** The rest of the memory is for buffers outside of the heap. */
const HEAP_SHARE = 0.6;
/** The user `node` of the image. */
const USER = '1000';
/** Time between a task's own stop limit and the limit of ECS. */
const STOP_MARGIN_MS = 10_000;

/** The gateway's process in ECS: not root, a read-only file system, an explicit list of rights. */
export class GatewayTask extends FargateTaskDefinition {
  readonly logGroup: LogGroup;

  constructor(
    scope: Construct,
    id: string,
    { tables, rootKey, settings, amqp, push }: GatewayTaskProps,
  ) {
    super(scope, id, {
      cpu: amqp.cpu,
      memoryLimitMiB: amqp.memoryMb,
      runtimePlatform: {
        cpuArchitecture: CpuArchitecture.ARM64,
        operatingSystemFamily: OperatingSystemFamily.LINUX,
      },
    });
    this.logGroup = new LogGroup(this, 'Logs', {
      retention: settings.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.addContainer('Gateway', {
      image: ContainerImage.fromDockerImageAsset(image(this)),
      portMappings: [{ containerPort: CONTAINER_PORT }],
      logging: LogDrivers.awsLogs({
        logGroup: this.logGroup,
        streamPrefix: 'gateway',
        // Losing a log line is better than clients that wait for the log.
        mode: AwsLogDriverMode.NON_BLOCKING,
      }),
      user: USER,
      readonlyRootFilesystem: true,
      linuxParameters: linux(this),
      stopTimeout: Duration.millis(DRAIN_NOTICE_MS + STOP_MS_MAX + STOP_MARGIN_MS),
      environment: {
        [VARIABLES.entitiesTable]: tables.entities.tableName,
        [VARIABLES.messagesTable]: tables.messages.tableName,
        [VARIABLES.namespace]: settings.namespace,
        [VARIABLES.tier]: settings.tier,
        [VARIABLES.rootKeySecret]: rootKey.secretArn,
        [VARIABLES.receiveWaitMsMax]: String(RECEIVE_WAIT_MS_MAX),
        [GATEWAY_VARIABLES.port]: String(CONTAINER_PORT),
        [GATEWAY_VARIABLES.drainNoticeMs]: String(DRAIN_NOTICE_MS),
        [GATEWAY_VARIABLES.accessLog]: String(settings.accessLogs),
        ...(settings.streamWakeUps && { [GATEWAY_VARIABLES.streamWakeUps]: 'true' }),
        ...limitVariables(settings, amqp),
        ...pushVariables(push),
        AWS_REGION: Stack.of(this).region,
        NODE_OPTIONS: `--max-old-space-size=${Math.floor(amqp.memoryMb * HEAP_SHARE)}`,
      },
    });
    this.#allow(DIRECT_RIGHTS.entities, tables.entities.tableArn);
    this.#allow(DIRECT_RIGHTS.messages, tables.messages.tableArn);
    if (settings.streamWakeUps) {
      for (const [arn, actions] of tables.streamRights) this.#allow(actions, arn);
    }
    this.#allow(['secretsmanager:GetSecretValue'], rootKey.secretArn);
  }

  #allow(actions: readonly string[], resource: string): void {
    this.addToTaskRolePolicy(new PolicyStatement({ actions: [...actions], resources: [resource] }));
  }
}

function limitVariables(
  { throttle }: BrokerSettings,
  { limits, connectionsPerTask }: AmqpSettings,
): Record<string, string> {
  const text = ({ rate, burst }: typeof throttle) => `${rate}/${burst}`;
  const openConnections =
    limits.openConnectionsPerAddress ??
    Math.max(BUDGETS.address.openConnections, 2 * connectionsPerTask);
  return {
    [GATEWAY_VARIABLES.openConnections]: String(openConnections),
    [GATEWAY_VARIABLES.newConnections]: text(limits.newConnectionsPerAddress),
    [GATEWAY_VARIABLES.requestsOfAddress]: text(limits.requestsPerAddress),
    [GATEWAY_VARIABLES.operationsOfRule]: text(limits.operationsPerRule),
    [GATEWAY_VARIABLES.requests]: text(throttle),
  };
}

/** An init process reaps ended processes and forwards signals. */
function linux(scope: Construct): LinuxParameters {
  const parameters = new LinuxParameters(scope, 'Linux', { initProcessEnabled: true });
  parameters.dropCapabilities(Capability.ALL);
  return parameters;
}

function image(scope: Construct): DockerImageAsset {
  return new DockerImageAsset(scope, 'Image', {
    directory: gatewayContext(scope),
    platform: Platform.LINUX_ARM64,
  });
}
