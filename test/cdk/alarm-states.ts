import assert from 'node:assert/strict';
import { runInNewContext } from 'node:vm';
import type { Template } from 'aws-cdk-lib/assertions';
import { propertiesById } from './synthesize.ts';

/** Tells which alarms of a template ring, as CloudWatch would, from lines of its logs and values of metrics. */

/** An alarm of a template. */
export interface AlarmProperties {
  readonly MetricName?: string;
  readonly Namespace?: string;
  readonly Dimensions?: readonly {
    readonly Name: string;
    readonly Value: { readonly Ref: string };
  }[];
  readonly Metrics?: readonly {
    readonly Id: string;
    readonly Expression?: string;
    readonly MetricStat?: { readonly Metric: { readonly MetricName: string } };
  }[];
  readonly Period?: number;
  readonly EvaluationPeriods: number;
  readonly DatapointsToAlarm?: number;
  readonly Threshold: number;
  readonly ComparisonOperator: 'GreaterThanOrEqualToThreshold' | 'LessThanThreshold';
  readonly TreatMissingData: 'breaching' | 'notBreaching';
}

/** Values of metrics in successive periods, by the names of the metrics; undefined where there is none. */
export type Series = Readonly<Record<string, readonly (number | undefined)[]>>;

interface FilterProperties {
  readonly FilterPattern: string;
  readonly LogGroupName: { readonly Ref: string };
  readonly MetricTransformations: readonly {
    readonly MetricName: string;
    readonly MetricValue: string;
    readonly DefaultValue?: number;
  }[];
}

/** The alarms of a template, by their ids without the hash at the end. */
export function alarmsOf(template: Template): ReadonlyMap<string, AlarmProperties> {
  const alarms = propertiesById<AlarmProperties>(template, 'AWS::CloudWatch::Alarm');
  return new Map([...alarms].map(([id, one]) => [withoutHash(id), one]));
}

/** The filters of a template, each with the id of its log group, without the hash at the end. */
export function filtersOf(template: Template) {
  return [...propertiesById<FilterProperties>(template, 'AWS::Logs::MetricFilter').values()].map(
    ({ LogGroupName, FilterPattern, MetricTransformations: [counted] }) => ({
      logGroup: withoutHash(LogGroupName.Ref),
      pattern: FilterPattern,
      counted: counted ?? assert.fail('a filter that counts nothing'),
    }),
  );
}

/** What the filters of a template count in one period, in which these lines came into one of its logs. */
export function countsOf(template: Template, logGroup: string, lines: readonly object[]): Series {
  const filters = filtersOf(template).filter((filter) => filter.logGroup === logGroup);
  assert.ok(filters.length > 0, `nothing is counted in ${logGroup}`);
  return Object.fromEntries(
    filters.map(({ pattern, counted }) => {
      const count = lines.filter((line) => matches(pattern, line)).length;
      // Without a match there is no value at all.
      return [counted.MetricName, count === 0 ? [] : [count * Number(counted.MetricValue)]];
    }),
  );
}

/** The alarms that ring after these periods. */
export function ringing(template: Template, series: Series): readonly string[] {
  return [...alarmsOf(template)].filter(([, alarm]) => rings(alarm, series)).map(([id]) => id);
}

/** Whether an alarm rings after the last of these periods: as many of the last ones breach as must. */
export function rings(alarm: AlarmProperties, series: Series): boolean {
  const { EvaluationPeriods: periods, DatapointsToAlarm: needed = periods, Threshold } = alarm;
  const all = valuesOf(alarm, series);
  // What was before the first period is missing.
  const last = Array.from({ length: periods }, (_, back) => all[all.length - 1 - back]);
  const breaching = last.filter((value) => {
    if (value === undefined) return alarm.TreatMissingData === 'breaching';
    return alarm.ComparisonOperator === 'LessThanThreshold'
      ? value < Threshold
      : value >= Threshold;
  });
  return breaching.length >= needed;
}

function valuesOf(
  { MetricName, Metrics = [] }: AlarmProperties,
  series: Series,
): readonly (number | undefined)[] {
  if (MetricName !== undefined) return series[MetricName] ?? [];
  const inputs = Metrics.flatMap(({ Id, MetricStat }) =>
    MetricStat === undefined ? [] : [[Id, series[MetricStat.Metric.MetricName] ?? []] as const],
  );
  const expression = Metrics.find(({ Expression }) => Expression !== undefined)?.Expression;
  const length = Math.max(0, ...inputs.map(([, values]) => values.length));
  return Array.from({ length }, (_, at) => {
    const values = inputs.map(([id, all]) => [id, all[at]] as const);
    // Where one is missing an arithmetic expression has no value.
    if (values.some(([, value]) => value === undefined)) return undefined;
    return Number(runInNewContext(String(expression), Object.fromEntries(values)));
  });
}

function withoutHash(id: string): string {
  return id.replace(/[0-9A-F]{8}$/, '');
}

const TERM = /\(\s*\$\.([\w.]+)\s*(=|!=)\s*"([^"]*)"\s*\)/g;

/** Whether a line matches a filter pattern for JSON, of those with `=`, `!=`, `*`, `&&`, `||` and texts. */
export function matches(pattern: string, line: object): boolean {
  const body = pattern.replace(/^\{ (.*) \}$/, '($1)');
  const conditions = body.replaceAll(TERM, (_, path: string, operator: string, wanted: string) => {
    const value = path
      .split('.')
      .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], line);
    const isEqual = typeof value === 'string' && wildcard(wanted).test(value);
    return String(operator === '=' ? isEqual : value !== undefined && !isEqual);
  });
  assert.match(conditions, /^[\s()&|truefals]+$/, `the pattern is of another kind: ${pattern}`);
  return runInNewContext(conditions) === true;
}

function wildcard(text: string): RegExp {
  const parts = text.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`);
}
