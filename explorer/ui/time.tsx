import { type PageSettings, pageSettings } from './settings.ts';
import { useObservable } from './use-observable.ts';

/** An instant, in local time or in UTC as the person has chosen; the other one is in the title. `at` = epoch ms. */
export function Time({ at }: { readonly at: number }) {
  const { times } = useObservable(pageSettings);
  if (!Number.isFinite(at)) return <span>–</span>;
  const date = new Date(at);
  const [local, utc] = [timeText(date, 'local'), timeText(date, 'utc')];
  return (
    <time dateTime={date.toISOString()} title={times === 'utc' ? `${local} here` : utc}>
      {times === 'utc' ? utc : local}
    </time>
  );
}

/** `2026-01-15 12:00:00`, with ` UTC` if it is. */
export function timeText(date: Date, kind: PageSettings['times']): string {
  if (kind === 'utc') return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const two = (value: number) => String(value).padStart(2, '0');
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Epoch ms of what a field for a date and a time has, undefined for none. One writes times as one reads them. */
export function readInstant(
  field: FormDataEntryValue | null,
  kind: PageSettings['times'],
): number | undefined {
  const instant = Date.parse(`${field ?? ''}${kind === 'utc' ? 'Z' : ''}`);
  return Number.isNaN(instant) ? undefined : instant;
}
