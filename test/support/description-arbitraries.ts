import fc from 'fast-check';
import { CONNECT, INSTANCE, SCHEMA } from './xml-names.ts';

/** Random descriptions of entities and rules in both forms of management: JSON and the elements of ATOM. */

/** The same description, or a part of it, as JSON text and as XML. */
export interface BothForms {
  readonly json: string;
  readonly xml: string;
}

/** A setting: its JSON value, and the inside of its element. */
type SettingForms = Readonly<Record<string, fc.Arbitrary<BothForms>>>;

const escaped = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\r', '&#xD;');
const both = (value: unknown): BothForms => ({
  json: JSON.stringify(value),
  xml: escaped(String(value)),
});
/** Text that XML can have. */
const plainText = (minLength: number) =>
  fc
    .string({ unit: 'grapheme', minLength, maxLength: 12 })
    .filter((text) => !/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(text));
const duration = (minMs: number, maxMs: number) =>
  fc.integer({ min: minMs, max: maxMs }).map((ms) => both(`PT${ms / 1000}S`));
const unlimited = (minMs: number) =>
  fc.oneof(duration(minMs, 30 * 86_400_000), fc.constant(both('P10675199DT2H48M5.4775807S')));
const boolean = fc.boolean().map(both);
const whole = (min: number, max: number) => fc.integer({ min, max }).map(both);
const word = (...words: readonly unknown[]) => fc.constantFrom(...words).map(both);

const key = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('base64'));
const policy = fc.record({
  keyName: fc.stringMatching(/^[a-z]{3,8}$/),
  rights: fc.constantFrom(['Send'], ['Listen'], ['Send', 'Listen'], ['Manage', 'Send', 'Listen']),
  primaryKey: key,
  secondaryKey: key,
});
const policies = fc
  .uniqueArray(policy, { maxLength: 3, selector: ({ keyName }) => keyName })
  .map((all) => ({
    json: JSON.stringify(
      all.map(({ rights: accessRights, ...rest }) => ({ ...rest, accessRights })),
    ),
    xml: all
      .map(
        ({ keyName, rights, primaryKey, secondaryKey }) =>
          `<AuthorizationRule xmlns:i="${INSTANCE}" i:type="SharedAccessAuthorizationRule"><Rights>${rights.map((one) => `<AccessRights>${one}</AccessRights>`).join('')}</Rights><KeyName>${keyName}</KeyName><PrimaryKey>${primaryKey}</PrimaryKey><SecondaryKey>${secondaryKey}</SecondaryKey></AuthorizationRule>`,
      )
      .join(''),
  }));

const COMMON: SettingForms = {
  defaultMessageTimeToLive: unlimited(1000),
  autoDeleteOnIdle: unlimited(300_000),
  enableBatchedOperations: boolean,
  userMetadata: plainText(0).map(both),
};
const INGRESS: SettingForms = {
  duplicateDetectionHistoryTimeWindow: duration(20_000, 7 * 86_400_000),
  maxSizeInMegabytes: word(1024, 2048, 5120),
  maxMessageSizeInKilobytes: word(256),
  requiresDuplicateDetection: boolean,
  supportOrdering: boolean,
  enablePartitioning: boolean,
  isAnonymousAccessible: boolean,
  authorizationRules: policies,
};
const DELIVERY: SettingForms = {
  lockDuration: duration(5000, 300_000),
  requiresSession: boolean,
  deadLetteringOnMessageExpiration: boolean,
  maxDeliveryCount: whole(1, 2000),
  forwardDeadLetteredMessagesTo: word('other', 'sb://host/Other', ''),
};

/** Every setting of each kind of entity, with its values; those that depend on others are left out. */
export const SETTING_FORMS: Readonly<Record<'queue' | 'topic' | 'subscription', SettingForms>> = {
  queue: {
    ...COMMON,
    ...INGRESS,
    ...DELIVERY,
    status: word('Active', 'Disabled', 'SendDisabled', 'ReceiveDisabled'),
  },
  topic: {
    ...COMMON,
    ...INGRESS,
    filteringMessagesBeforePublishing: boolean,
    enableSubscriptionPartitioning: boolean,
    status: word('Active', 'Disabled', 'SendDisabled'),
  },
  subscription: {
    ...COMMON,
    ...DELIVERY,
    deadLetteringOnFilterEvaluationExceptions: boolean,
    status: word('Active', 'Disabled', 'ReceiveDisabled'),
  },
};

/** The settings that cannot be combined with all others, by kind. */
export const SINGLE_FORMS: Readonly<Record<keyof typeof SETTING_FORMS, SettingForms>> = {
  queue: { enableExpress: boolean, forwardTo: word('other', 'sb://host/other') },
  topic: { enableExpress: boolean },
  subscription: { forwardTo: word('other', 'sb://host/other') },
};

/** The members of a JSON description and the elements of one in ATOM, of settings by their camelCase names. */
export function formsOf(settings: Readonly<Record<string, BothForms>>): BothForms {
  const entries = Object.entries(settings);
  return {
    json: entries.map(([name, { json }]) => `"${name}":${json}`).join(','),
    xml: entries
      .map(([name, { xml }]) => {
        const element = name.slice(0, 1).toUpperCase() + name.slice(1);
        return `<${element}>${xml}</${element}>`;
      })
      .join(''),
  };
}

/** Random settings of a kind of entity. */
export function settingsOf(kind: keyof typeof SETTING_FORMS): fc.Arbitrary<BothForms> {
  return fc
    .record(SETTING_FORMS[kind], { requiredKeys: [] })
    .map((found) => formsOf(found as Readonly<Record<string, BothForms>>));
}

const typed = (type: string, json: string, text: string): BothForms => ({
  json,
  xml: `<Value i:type="x:${type}" xmlns:i="${INSTANCE}" xmlns:x="${SCHEMA}">${escaped(text)}</Value>`,
});
const value: fc.Arbitrary<BothForms> = fc.oneof(
  plainText(0).map((text) => typed('string', JSON.stringify(text), text)),
  fc.boolean().map((one) => typed('boolean', String(one), String(one))),
  fc.integer().map((n) => typed('int', String(n), String(n))),
  fc
    .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    .map((n) => typed('long', `{"$long":"${n}"}`, String(n))),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .map((n) => typed('double', doubleJson(n), doubleJson(n))),
  fc.uuid().map((id) => typed('guid', `{"$guid":"${id}"}`, id)),
  fc
    .date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59Z'),
      noInvalidDate: true,
    })
    .chain((date) => fc.constantFrom(date.toISOString(), date.toISOString().replace(/\.\d+Z$/, '')))
    .map((text) => typed('dateTime', `{"$date":"${text}"}`, text)),
);

function doubleJson(n: number): string {
  const text = Object.is(n, -0) ? '-0' : String(n);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

const values = fc.dictionary(fc.constantFrom('p', 'some name', 'constructor', '_x'), value);

function valueForms(list: string, all: Readonly<Record<string, BothForms>>): BothForms {
  const entries = Object.entries(all);
  const pairs = entries.map(
    ([name, { xml }]) =>
      `<KeyValueOfstringanyType><Key>${escaped(name)}</Key>${xml}</KeyValueOfstringanyType>`,
  );
  return {
    json: `{${entries.map(([name, { json }]) => `${JSON.stringify(name)}:${json}`).join(',')}}`,
    xml: `<${list}>${pairs.join('')}</${list}>`,
  };
}

const correlation = fc
  .tuple(
    plainText(1),
    fc.record(
      { contentType: plainText(1), sessionId: plainText(1), subject: plainText(1) },
      { requiredKeys: [] },
    ),
    values,
  )
  .map(([to, system, properties]): BothForms => {
    const conditions = Object.entries({ ...system, to });
    const { json, xml } = valueForms('Properties', properties);
    const elements = conditions.map(([name, text]) => {
      const element = name === 'subject' ? 'Label' : name.slice(0, 1).toUpperCase() + name.slice(1);
      return `<${element}>${escaped(text)}</${element}>`;
    });
    return {
      json: `"correlation":{${conditions.map(([name, text]) => `"${name}":${JSON.stringify(text)}`).join(',')},"properties":${json}}`,
      xml: filterXml('CorrelationFilter', `${elements.join('')}${xml}`),
    };
  });

const filterXml = (type: string, inner: string, element = 'Filter') =>
  `<${element} xmlns:i="${INSTANCE}" i:type="${type}">${inner}</${element}>`;

const sql = fc
  .tuple(fc.constantFrom('a = 1', "b LIKE 'x%' AND c > @p", '1=1', '1=0'), value, values)
  .map(([expression, p, others]): BothForms => {
    const { json, xml } = valueForms('Parameters', { ...others, p });
    return {
      json: `"sql":{"expression":${JSON.stringify(expression)},"parameters":${json}}`,
      xml: filterXml('SqlFilter', `<SqlExpression>${escaped(expression)}</SqlExpression>${xml}`),
    };
  });
const PLAIN: readonly BothForms[] = [
  { json: '', xml: '' },
  { json: '"sql":"1=1"', xml: filterXml('TrueFilter', '') },
  { json: '"sql":"1=0"', xml: filterXml('FalseFilter', '') },
  ...['1=1', '1=0', 'x = 1'].map((text) => ({
    json: `"sql":{"expression":"${text}"}`,
    xml: filterXml('SqlFilter', `<SqlExpression>${text}</SqlExpression>`),
  })),
  { json: '"sql":"x = 1"', xml: filterXml('SqlFilter', '<SqlExpression>x = 1</SqlExpression>') },
];
const action = fc.option(
  fc.tuple(fc.constantFrom('SET x = 1', 'REMOVE y', 'SET z = @p'), value).map(([text, p]) => {
    const { json, xml } = valueForms('Parameters', { p });
    return {
      json: `"action":{"expression":"${text}","parameters":${json}}`,
      xml: filterXml('SqlRuleAction', `<SqlExpression>${text}</SqlExpression>${xml}`, 'Action'),
    };
  }),
  { nil: { json: '', xml: '' } },
);

/** A random rule, without its name. */
export const ruleForms: fc.Arbitrary<BothForms> = fc
  .tuple(fc.oneof(fc.constantFrom(...PLAIN), sql, correlation), action)
  .map(([filter, then]) => ({
    json: [filter.json, then.json].filter(Boolean).join(','),
    xml: filter.xml + then.xml,
  }));

/** The ATOM entry of a description. */
export function entryOf(kind: string, xml: string): string {
  return `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><${kind} xmlns="${CONNECT}">${xml}</${kind}></content></entry>`;
}
