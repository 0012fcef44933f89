import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { z } from 'zod';
import { ENDPOINTS, TIERS } from '../shared/app/variables.ts';
import { ACCESS_KINDS } from '../shared/auth/access-kinds.ts';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { correction, listed, nearestOf, shown } from '../shared/domain/fault-words.ts';
import { amqpSettings } from './amqp-settings.ts';
import { issuesOfFunctionUrl } from './function-url-settings.ts';
import { faultsOf, SettingsError } from './setting-faults.ts';
import { flag, oneOf, rate, section, text, whole } from './setting-values.ts';

const RETENTION_DAYS = Object.values(RetentionDays).filter((days) => typeof days === 'number');
const RETENTION = `a number of days that CloudWatch Logs knows: ${listed(RETENTION_DAYS, 'or')} (for ever)`;

const PLATFORM_LOG_LEVELS = ['warn', 'info', 'debug'] as const;

/** The settings of a stage. The defaults suit production. */
const stageSettingsShape = section({
  stage: text(
    /^[a-z][a-z0-9-]{0,30}$/,
    'a name of up to 31 lower-case letters, digits and hyphens that begins with a letter',
  ),
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
  /** The SNS topic for alarms; absent = alarms only show in the console. */
  alarmTopicArn: text(
    /^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]+$/,
    'the ARN of a standard SNS topic, such as arn:aws:sns:eu-west-1:111122223333:alarms',
  ).optional(),
  /** Enables AMQP for the official SDKs; absent = off. */
  amqp: amqpSettings.optional(),
});

const stageSettings = stageSettingsShape.superRefine(({ access, amqp }, context) => {
  if (access === 'sas' || amqp === undefined) return;
  context.addIssue({
    code: 'custom',
    path: ['amqp'],
    input: amqp,
    message: `left out while access is ${access}, since AMQP clients sign with keys and access ${access} has none`,
  });
});

/** The settings of one stage, checked and complete. */
export type StageSettings = z.infer<typeof stageSettings>;

type Context = Readonly<Record<string, unknown>>;

/** Settings that `-c` accepts for any stage; they override cdk.json. */
const ANY_STAGE = ['tier', 'access', 'endpoint', 'amqp'] as const;
const CONTEXT_KEYS = ['stage', 'stages', ...ANY_STAGE] as const;
/** Context keys of CDK itself: feature flags, lookups and notes of its command line. */
const KEY_OF_CDK = /[:/@]|^cdk-|^cli-telemetry$|^acknowledged-issue-numbers$/;
const AMQP_EXAMPLE = `-c amqp='{"certificateArn": "arn:aws:acm:…", "domainName": "bus.example.com"}'`;

/**
 * Reads the settings of the chosen stage from the CDK context: `stage` names it (`-c stage=prod`), and `stages` in
 * cdk.json has the values that differ from the defaults. `-c tier=Basic`, `-c access=iam`, `-c endpoint=functionUrl`
 * and `-c amqp='{"certificateArn": …}'` override both. `foreign` = the user's context for all projects, in which
 * unknown keys are ignored. Throws SettingsError with a sentence for each fault.
 */
export function readStageSettings(context: Context, foreign: Context = {}): StageSettings {
  const faults = unknownKeys(context, foreign);
  try {
    const settings = readStage(context);
    if (faults.length === 0) return settings;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    faults.push(...error.faults);
  }
  throw new SettingsError(faults);
}

function readStage(context: Context): StageSettings {
  const { stage, chosen } = chooseStage(context);
  const { amqp, tier, access, endpoint } = context;
  const given = {
    namespace: `dynabus-${stage}`,
    ...chosen,
    ...(tier !== undefined && { tier }),
    ...(access !== undefined && { access }),
    ...(endpoint !== undefined && { endpoint }),
    ...(amqp !== undefined && { amqp: readAmqp(amqp) }),
    stage,
  };
  const parsed = stageSettings.safeParse(given, { reportInput: true });
  const issues = [...(parsed.error?.issues ?? []), ...issuesOfFunctionUrl(given)];
  if (parsed.success && issues.length === 0) return parsed.data;
  const placeOf = (setting: string) =>
    ANY_STAGE.some((name) => name === setting && context[name] !== undefined)
      ? `-c ${setting}`
      : `stages.${stage} of cdk.json`;
  throw new SettingsError(faultsOf(stageSettings, issues, { stage, placeOf }));
}

function chooseStage({ stage, stages = {} }: Context) {
  if (!isObject(stages)) {
    throw wrong(
      `stages is ${shown(stages)}, but must be an object with an entry for each stage: change it in context of cdk.json.`,
    );
  }
  const names = Object.keys(stages);
  if (stage === undefined || stage === '') {
    throw wrong(`No stage is chosen: add -c stage= with ${listed(names, 'or') || 'its name'}.`);
  }
  if (names.length === 0) {
    throw wrong('cdk.json has no stage: add one to stages in its context, for instance "dev": {}.');
  }
  if (typeof stage !== 'string' || !Object.hasOwn(stages, stage)) {
    const nearest = typeof stage === 'string' ? nearestOf(stage, names) : undefined;
    throw wrong(
      `There is no stage ${shown(stage)} in cdk.json, only ${listed(names, 'and')}: choose ${nearest ?? 'one of them'} by -c stage=…, or add it to stages in cdk.json.`,
    );
  }
  const chosen = stages[stage];
  if (!isObject(chosen)) {
    throw wrong(
      `Stage '${stage}' is ${shown(chosen)}, but must be an object with its settings, and {} takes the defaults: change stages.${stage} in cdk.json.`,
    );
  }
  return { stage, chosen };
}

function unknownKeys(context: Context, foreign: Context): string[] {
  const known = CONTEXT_KEYS.filter((key) => key !== 'stages');
  return Object.keys(context)
    .filter((key) => !CONTEXT_KEYS.some((one) => one === key) && !KEY_OF_CDK.test(key))
    .filter((key) => !Object.hasOwn(foreign, key))
    .map((key) =>
      Object.hasOwn(stageSettingsShape.shape, key.replace(/\..*/, ''))
        ? `${key} is a setting of a stage, which -c does not take: set it in stages of cdk.json; -c takes ${listed(known, 'and')}.`
        : `-c ${key} is unknown, since -c takes ${listed(known, 'and')}: ${correction(key, known)}; if it was not typed, it stands in context of cdk.json or cdk.context.json.`,
    );
}

/** A value from the command line is text and is parsed as JSON. */
function readAmqp(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    throw wrong(`-c amqp is ${shown(value)}, which is no JSON: write ${AMQP_EXAMPLE}.`);
  }
}

function wrong(sentence: string): SettingsError {
  return new SettingsError([sentence]);
}

function isObject(value: unknown): value is Context {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function memoryMb(standard: number) {
  return whole(128, 10_240).default(standard);
}
