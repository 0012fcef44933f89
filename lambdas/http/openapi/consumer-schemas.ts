import { CONSUMER_SETTINGS, type SettingForm } from '../../../shared/config/setting-table.ts';
import { CONSUMER_LIMITS } from '../../../shared/domain/consumers/consumer.ts';
import { CONSUMER_DEFAULTS } from '../../../shared/domain/consumers/consumer-settings.ts';
import { CONSUMER_READ_ONLY } from '../json/read-consumer.ts';
import { duration, durationParts, orNull } from './management-schemas.ts';
import { boolean, ref, type Schema, text } from './schema-parts.ts';

/** The settings of which a schema can say more than their form. */
const RANGES: Readonly<Record<string, Schema>> = {
  target: {
    ...text,
    minLength: 1,
    maxLength: CONSUMER_LIMITS.targetLength,
    description:
      'The ARN of a Lambda function; on a local server an address of this machine instead.',
  },
  maxBatch: whole(CONSUMER_LIMITS.maxBatchMax, CONSUMER_DEFAULTS.maxBatch),
  maxConcurrency: whole(CONSUMER_LIMITS.maxConcurrencyMax, CONSUMER_DEFAULTS.maxConcurrency),
  maxPerSecond: whole(CONSUMER_LIMITS.maxPerSecondMax),
};

function whole(maximum: number, standard?: number): Schema {
  const bounds = { type: 'integer', minimum: 1, maximum };
  return standard === undefined ? bounds : { ...bounds, default: standard };
}

function settings(durations: Schema): Readonly<Record<string, Schema>> {
  const formOf = (form: SettingForm) => (form === 'duration' ? durations : boolean);
  const members = Object.entries(CONSUMER_SETTINGS).map(([name, { form }]) => [
    name,
    RANGES[name] ?? formOf(form),
  ]);
  return Object.fromEntries(members);
}

const { target, ...others } = settings({ anyOf: [duration, durationParts] });
const optional = Object.entries(others).map(([name, schema]) => [name, orNull(schema)]);

/** The schemas of consumers, by name. */
export const CONSUMER_SCHEMAS = {
  ConsumerRequest: {
    type: 'object',
    description:
      'A missing setting, or null, means its default. The path must agree with the name.',
    properties: {
      name: orNull(text),
      target,
      ...Object.fromEntries(optional),
      ...Object.fromEntries(CONSUMER_READ_ONLY.map((name) => [name, {}])),
    },
    required: ['target'],
    additionalProperties: false,
  },
  Consumer: {
    type: 'object',
    properties: {
      name: text,
      ...settings(duration),
      requiresSession: {
        ...boolean,
        description: 'Whether each call has messages of one session.',
      },
      createdAt: text,
      modifiedAt: text,
      state: {
        type: 'object',
        description: 'What the dispatcher does; absent where that is not known.',
        properties: {
          isRunning: boolean,
          lastError: {
            ...text,
            description: 'What went wrong last; absent after a call that succeeded.',
          },
          lastErrorAt: { ...text, description: 'When it did.' },
          retryAt: { ...text, description: 'When the target is called again after failures.' },
        },
        required: ['isRunning'],
      },
    },
    required: [
      'name',
      ...Object.keys(CONSUMER_SETTINGS).filter((name) => name !== 'maxPerSecond'),
      ...CONSUMER_READ_ONLY.filter((name) => name !== 'state'),
    ],
  },
  Consumers: {
    type: 'object',
    properties: {
      consumers: {
        type: 'array',
        items: ref('Consumer'),
        maxItems: CONSUMER_LIMITS.perEntity,
      },
    },
    required: ['consumers'],
  },
} as const satisfies Readonly<Record<string, Schema>>;
