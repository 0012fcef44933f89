import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { BrokerProps } from '../../cdk/broker-props.ts';
import { type BrokerSettingsInput, readBrokerSettings } from '../../cdk/broker-settings.ts';
import { pushSettingsOf } from '../../cdk/push-settings.ts';
import { AMQP } from './synthesize.ts';

/** A type whose members are read-only, and optional without being undefined. */
type Plain<T> = T extends object ? { readonly [K in keyof T]: Plain<Exclude<T[K], undefined>> } : T;
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** The compiler refuses this line if the properties of the construct are not what the schema takes. */
const SAME: Same<Plain<BrokerProps>, Plain<BrokerSettingsInput>> = true;

const TEXT = readFileSync(new URL('../../cdk/broker-props.ts', import.meta.url), 'utf8');
const INTERFACE = /^export interface (?<name>\w+) \{\n(?<body>.*?)^\}/gms;
const PROPERTY = /^(?<doc>(?: {2,3}(?:\/\*\*| ?\*).*\n)*) {2}readonly (?<name>\w+)\??:/gm;
/** `Default: 30.`, `Default: true.` and the like. */
const DEFAULT = /Default: `?(?<value>true|false|[A-Za-z]+(?=`)|[\d,]+(?=\.))/;

const defaults = readBrokerSettings({ amqp: AMQP }, { path: 'Bus', namespace: 'test' });
const VALUES: Readonly<Record<string, object>> = {
  BrokerProps: defaults,
  FunctionMemoryProps: defaults.memoryMb,
  AmqpProps: defaults.amqp ?? {},
  PushProps: pushSettingsOf({ push: true }) ?? {},
};

const properties = [...TEXT.matchAll(INTERFACE)].flatMap(({ groups: found }) =>
  [...String(found?.['body']).matchAll(PROPERTY)].map(({ groups }) => ({
    group: String(found?.['name']),
    name: String(groups?.['name']),
    doc: String(groups?.['doc']),
  })),
);

test('the properties of Broker are the settings of a stage, and each has a docstring', () => {
  assert.ok(SAME);
  assert.ok(properties.length > 40, String(properties.length));
  assert.deepEqual(
    properties.filter(({ doc }) => doc === '').map(({ group, name }) => `${group}.${name}`),
    [],
  );
});

test('the docstrings of Broker name the defaults that the schema has', () => {
  const documented = properties.flatMap(({ group, name, doc }) => {
    const value = DEFAULT.exec(doc)?.groups?.['value'];
    const values = VALUES[group] as Readonly<Record<string, unknown>> | undefined;
    if (value === undefined || values === undefined) return [];
    // `rate` 2000, `burst` 1000
    if (value === 'rate') return [];
    assert.equal(value.replace(',', ''), String(values[name]), `${group}.${name}`);
    return [`${group}.${name}`];
  });
  assert.ok(documented.length >= 20, documented.join(', '));
});
