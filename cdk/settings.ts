import { correction, listed, nearestOf, shown } from '../shared/domain/fault-words.ts';
import type { BrokerProps } from './broker-props.ts';
import {
  BROKER_SETTINGS,
  type BrokerSettings,
  check,
  refuseAmqpWithoutKeys,
} from './broker-settings.ts';
import { SettingsError } from './setting-faults.ts';
import { section, text } from './setting-values.ts';

/** A stage is a broker with a name. */
const stageSettings = section({
  stage: text(
    /^[a-z][a-z0-9-]{0,30}$/,
    'a name of up to 31 lower-case letters, digits and hyphens that begins with a letter',
  ),
  ...BROKER_SETTINGS,
}).superRefine(refuseAmqpWithoutKeys);

/** The settings of one stage, checked and complete. */
export interface StageSettings extends BrokerSettings {
  readonly stage: string;
  /** The settings as they were given, without defaults: what the construct takes. */
  readonly props: BrokerProps;
}

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
  const placeOf = (setting: string) =>
    ANY_STAGE.some((name) => name === setting && context[name] !== undefined)
      ? `-c ${setting}`
      : `stages.${stage} of cdk.json`;
  const owner = `stage '${stage}'`;
  const settings = check(stageSettings, given, {
    prefix: '',
    owner,
    ofOwner: ` of ${owner}`,
    placeOf,
  });
  const { stage: _, ...props } = given;
  // The schema has taken them.
  return { ...settings, props: props as BrokerProps };
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
      Object.hasOwn(stageSettings.shape, key.replace(/\..*/, ''))
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
