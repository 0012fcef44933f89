import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { z } from 'zod';
import { ACCESS_KINDS } from '../lambdas/http/access-kinds.ts';
import { TIERS } from '../lambdas/http/variables.ts';
import { BUDGETS } from '../shared/domain/budgets.ts';
import { amqpSettings, rate } from './amqp-settings.ts';

/** What may differ between stages. Defaults are those of a broker somebody relies on. */
const eachSetting = z.strictObject({
  stage: z.string().regex(/^[a-z][a-z0-9-]{0,30}$/, 'lower-case letters, digits and hyphens'),
  /** As management and tokens show it. */
  namespace: z.string().regex(/^[a-zA-Z][a-zA-Z0-9-]{1,49}$/, 'letters, digits and hyphens'),
  /** What entities may be like: topics and sessions not in Basic, large messages in Premium. */
  tier: z.enum(TIERS).default('Standard'),
  /**
   * Who says what a caller may do: `sas`, tokens signed with keys of the namespace and its entities;
   * or `iam`, policies of AWS on method and path, and then no keys at all.
   */
  access: z.enum(ACCESS_KINDS).default('sas'),
  /** Tables and root key outlive the stack, and the tables refuse to be deleted. */
  keepData: z.boolean().default(true),
  pointInTimeRecovery: z.boolean().default(true),
  logRetentionDays: z
    .int()
    .refine((days) => days in RetentionDays, 'not a period that CloudWatch Logs knows')
    .default(RetentionDays.ONE_MONTH),
  memoryMb: z
    .strictObject({
      send: memoryMb(1024),
      receive: memoryMb(1024),
      settle: memoryMb(1024),
      manage: memoryMb(1024),
      sweep: memoryMb(512),
    })
    .prefault({}),
  /** Executions set aside, and the most there may be, for each function named. */
  reservedConcurrency: z
    .partialRecord(
      z.enum(['send', 'receive', 'settle', 'manage', 'sweep']),
      z.int().min(1).max(10_000),
    )
    .default({}),
  /** The longest a receive waits for a message: waiting is paid for by the millisecond. */
  receiveWaitMsMax: z.int().min(0).max(20_000).default(2000),
  sweepMinutes: z.int().min(1).max(60).default(1),
  /**
   * Requests a second in the long run, and at once; beyond, API Gateway answers 429, and each task of
   * the gateway for AMQP 503.
   */
  throttle: rate(BUDGETS.process.requests),
  /** Whether each request, and each connection and link of the gateway, stands in a log. */
  accessLogs: z.boolean().default(false),
  /** The SNS topic that hears of alarms; without one they only show in the console. */
  alarmTopicArn: z.string().startsWith('arn:').optional(),
  /** Lets the clients of the SDKs in, who speak AMQP; off where nothing is said. */
  amqp: amqpSettings.optional(),
});

const stageSettings = eachSetting.refine(
  ({ access, amqp }) => access === 'sas' || amqp === undefined,
  {
    path: ['amqp'],
    message: 'clients that speak AMQP sign with keys, and with access iam there are none',
  },
);

/** The settings of one stage, checked and complete. */
export type StageSettings = z.infer<typeof stageSettings>;

/**
 * Reads the settings of the chosen stage out of the CDK context: `stage` names it (`-c stage=prod`),
 * `stages` in cdk.json holds what it sets apart from the defaults. `-c access=iam`,
 * `-c tier=Basic` and `-c amqp='{"certificateArn": …}'` go before both.
 */
export function readStageSettings(context: (name: string) => unknown): StageSettings {
  const stages = z.record(z.string(), z.looseObject({})).parse(context('stages') ?? {});
  const stage = z.string().parse(context('stage'));
  const chosen = stages[stage];
  if (chosen === undefined) {
    throw new Error(
      `No stage '${stage}' in cdk.json; there are: ${Object.keys(stages).join(', ')}`,
    );
  }
  const parsed = stageSettings.safeParse({
    namespace: `dynabus-${stage}`,
    ...chosen,
    tier: context('tier') ?? chosen['tier'],
    access: context('access') ?? chosen['access'],
    amqp: readJson(context('amqp')) ?? chosen['amqp'],
    stage,
  });
  if (parsed.success) return parsed.data;
  throw new Error(`Settings of stage '${stage}':\n${z.prettifyError(parsed.error)}`);
}

/** What is said on the command line arrives as text. */
function readJson(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value;
}

function memoryMb(standard: number) {
  return z.int().min(128).max(10_240).default(standard);
}
