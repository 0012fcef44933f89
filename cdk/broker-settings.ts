import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import * as z from 'zod';
import { ENDPOINTS, TIERS } from '../shared/app/variables.ts';
import { ACCESS_KINDS } from '../shared/auth/access-kinds.ts';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { listed } from '../shared/domain/fault-words.ts';
import { amqpSettings } from './amqp-settings.ts';
import { issuesOfFunctionUrl } from './function-url-settings.ts';
import { PUSH_SETTINGS } from './push-settings.ts';
import { faultsOf, SettingsError, type SettingsSource } from './setting-faults.ts';
import {
  flag,
  oneOf,
  rate,
  reference,
  section,
  switchWith,
  text,
  whole,
} from './setting-values.ts';

const RETENTION_DAYS = Object.values(RetentionDays).filter((days) => typeof days === 'number');
const RETENTION = `a number of days that CloudWatch Logs knows: ${listed(RETENTION_DAYS, 'or')} (for ever)`;

const PLATFORM_LOG_LEVELS = ['warn', 'info', 'debug'] as const;

/** The settings of a broker by name, as `BrokerProps` describes them. The defaults suit production. */
export const BROKER_SETTINGS = {
  /** The name of the namespace in management and tokens. */
  namespace: text(
    /^[a-zA-Z][a-zA-Z0-9-]{1,49}$/,
    'a name of 2 to 50 letters, digits and hyphens that begins with a letter',
  ),
  /** Bounds entities: no topics and sessions in Basic, large messages only in Premium. */
  tier: oneOf(TIERS).default('Standard'),
  /**
   * How callers are authorized: `sas`, tokens signed with keys of the namespace and its entities; or `iam`, AWS
   * policies, without any keys: on method and path, or with a function URL on the namespace as a whole.
   */
  access: oneOf(ACCESS_KINDS).default('sas'),
  /**
   * What receives requests over HTTP: `apiGateway`, an HTTP API in front of a function for each kind of operation; or
   * `functionUrl`, the URL of one function, which costs less and cannot throttle, log or route.
   */
  endpoint: oneOf(ENDPOINTS).default('apiGateway'),
  /** Whether tables and root key outlive the stack, and the tables have deletion protection. */
  keepData: flag().default(true),
  pointInTimeRecovery: flag().default(true),
  logRetentionDays: z
    .int(RETENTION)
    .refine((days) => days in RetentionDays, RETENTION)
    .default(RetentionDays.ONE_MONTH),
  /**
   * The memory of each function, which also decides its share of a processor. Receives wait in two of them, and waiting
   * is paid for by memory (docs/cost.md).
   */
  memoryMb: section({
    send: memoryMb(512),
    receive: memoryMb(256),
    settle: memoryMb(512),
    manage: memoryMb(256),
    sweep: memoryMb(512),
  }).prefault({}),
  /** Reserved concurrent executions by function, which are also its maximum, and all that bounds a function URL. */
  reservedConcurrency: section({
    send: whole(1, 10_000).optional(),
    receive: whole(1, 10_000).optional(),
    settle: whole(1, 10_000).optional(),
    manage: whole(1, 10_000).optional(),
    sweep: whole(1, 10_000).optional(),
  }).default({}),
  /** The longest that a receive waits for a message, ms: a client that asks again at once pays least for long waits. */
  receiveWaitMsMax: whole(0, 20_000).default(10_000),
  sweepMinutes: whole(1, 60).default(1),
  /**
   * Requests a second on average, and at once. Beyond that API Gateway answers 429, and each task of the AMQP gateway
   * 503.
   */
  throttle: rate(BUDGETS.process.requests),
  /** Whether each request, and each connection and link of the gateway, is logged. */
  accessLogs: flag().default(false),
  /**
   * The least level of the lines that Lambda itself writes. `warn` has the reports of calls that failed or timed out,
   * which an alarm counts; `info` adds two lines for each call.
   */
  platformLogs: oneOf(PLATFORM_LOG_LEVELS).default('warn'),
  /** Whether X-Ray traces the functions. */
  tracing: flag().default(false),
  /** Whether the stream of the messages table wakes receivers that wait in the gateway, or by `grantDirect`. */
  streamWakeUps: flag().default(false),
  /** Whether messages are pushed to the targets of consumers, and which functions anybody may name as a target. */
  push: switchWith(PUSH_SETTINGS).default(false),
  /** The SNS topic for alarms; absent = alarms only show in the console. */
  alarmTopicArn: reference(
    /^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]+$/,
    'the ARN of a standard SNS topic, such as arn:aws:sns:eu-west-1:111122223333:alarms',
  ).optional(),
  /** Enables AMQP for the official SDKs; absent = off. */
  amqp: amqpSettings.optional(),
};

const brokerSettings = section(BROKER_SETTINGS).superRefine(refuseAmqpWithoutKeys);

/** The settings of a broker, checked and complete. */
export type BrokerSettings = z.infer<typeof brokerSettings>;
/** What `readBrokerSettings` accepts. Its caller has a default for `namespace`. */
export type BrokerSettingsInput = Omit<z.input<typeof brokerSettings>, 'namespace'> &
  Partial<Pick<z.input<typeof brokerSettings>, 'namespace'>>;

/** The origin of the settings of a construct: `path` = its path in the app. */
export interface BrokerSettingsSource {
  readonly path: string;
  /** The namespace if the settings name none. */
  readonly namespace: string;
}

/**
 * Checks the settings of a broker construct and adds the defaults. Throws SettingsError with a sentence for each fault,
 * which begins with the path of the construct.
 */
export function readBrokerSettings(
  props: object,
  { path, namespace }: BrokerSettingsSource,
): BrokerSettings {
  const given: Record<string, unknown> = { ...props };
  if (given['namespace'] === undefined) given['namespace'] = namespace;
  return check(brokerSettings, given, {
    prefix: `${path}: `,
    owner: 'a Broker',
    ofOwner: '',
  });
}

/** Parses settings with their schema. Throws SettingsError with a sentence for each fault. */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  given: Readonly<Record<string, unknown>>,
  source: SettingsSource,
): z.infer<Schema> {
  const parsed = schema.safeParse(given, { reportInput: true });
  const issues = [...(parsed.error?.issues ?? []), ...issuesOfFunctionUrl(given)];
  if (parsed.success && issues.length === 0) return parsed.data;
  throw new SettingsError(faultsOf(schema, issues, source));
}

/** Adds an issue if a broker without keys has AMQP. */
export function refuseAmqpWithoutKeys(
  { access, amqp }: { readonly access: string; readonly amqp?: unknown },
  context: z.RefinementCtx,
): void {
  if (access === 'sas' || amqp === undefined) return;
  context.addIssue({
    code: 'custom',
    path: ['amqp'],
    input: amqp,
    message: `left out while access is ${access}, since AMQP clients sign with keys and access ${access} has none`,
  });
}

function memoryMb(standard: number) {
  return whole(128, 10_240).default(standard);
}
