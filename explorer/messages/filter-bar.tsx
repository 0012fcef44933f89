import type { TargetedSubmitEvent } from 'preact';
import { useState } from 'preact/hooks';
import { numberText } from '../ui/format.ts';
import { pageSettings } from '../ui/settings.ts';
import { readInstant } from '../ui/time.tsx';
import { useObservable } from '../ui/use-observable.ts';
import type { MessageFilter } from './filter.ts';
import { OTHER_REASONS, type ScanState } from './scan.ts';
import { excerpt } from './visible-text.ts';

/** The most reasons that are offered as buttons. */
const REASONS_SHOWN = 20;

/** The properties of the bar. */
export interface FilterBarProps {
  readonly filter: MessageFilter;
  readonly from: bigint | undefined;
  readonly state: ScanState;
  readonly onSearch: (filter: MessageFilter, from: bigint | undefined) => void;
  readonly onRefresh: () => void;
}

/** Where the list begins and what it shows. */
export function FilterBar(props: FilterBarProps) {
  const { filter, from, state, onSearch, onRefresh } = props;
  const { times } = useObservable(pageSettings);
  /** A narrow page shows the fields only when somebody asks for them. */
  const [isUnfolded, setUnfolded] = useState(false);
  /** Shows what the fields say, with a reason: what is seen is always what they say together. */
  const apply = (form: HTMLFormElement, reason: string) => {
    if (!form.reportValidity()) return;
    const fields = new FormData(form);
    const field = (name: string) => String(fields.get(name) ?? '').trim();
    const number = field('from');
    const asked = {
      reason,
      text: field('text'),
      property: field('property'),
      enqueuedFrom: readInstant(fields.get('enqueuedFrom'), times),
      enqueuedTo: readInstant(fields.get('enqueuedTo'), times),
    };
    onSearch(asked, number === '' ? undefined : BigInt(number));
  };
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    apply(event.currentTarget, filter.reason);
  };
  return (
    <form class={isUnfolded ? 'filters unfolded' : 'filters'} onSubmit={submit}>
      <button
        type="button"
        class="narrow"
        aria-expanded={isUnfolded}
        onClick={() => setUnfolded(!isUnfolded)}
      >
        Filter
      </button>
      <label>
        From sequence number
        <input
          name="from"
          inputMode="numeric"
          pattern="\d{1,19}"
          title="A sequence number"
          size={8}
          defaultValue={String(from ?? '')}
        />
      </label>
      <label>
        Text
        <input
          name="text"
          type="search"
          placeholder="in body and properties"
          defaultValue={filter.text}
        />
      </label>
      <label>
        Property
        <input name="property" size={14} placeholder="name=value" defaultValue={filter.property} />
      </label>
      <label>
        Enqueued after{times === 'utc' ? ', UTC' : ''}
        <input name="enqueuedFrom" type="datetime-local" step="1" />
      </label>
      <label>
        before{times === 'utc' ? ', UTC' : ''}
        <input name="enqueuedTo" type="datetime-local" step="1" />
      </label>
      <button type="submit">Search</button>
      <button type="button" class="quiet" onClick={onRefresh}>
        Refresh
      </button>
      <Reasons chosen={filter.reason} state={state} onChoice={apply} />
    </form>
  );
}

function Reasons({
  chosen,
  state,
  onChoice,
}: {
  readonly chosen: string;
  readonly state: ScanState;
  readonly onChoice: (form: HTMLFormElement, reason: string) => void;
}) {
  const reasons = [...state.reasons].filter(
    ([reason]) => reason !== '' && reason !== OTHER_REASONS,
  );
  const most = reasons.sort(([, a], [, b]) => b - a).slice(0, REASONS_SHOWN);
  // The one that is chosen can be let go also when no message has it any more.
  const isShown = chosen === '' || most.some(([reason]) => reason === chosen);
  if (!isShown) most.push([chosen, state.reasons.get(chosen) ?? 0]);
  if (most.length === 0) return null;
  return (
    <fieldset class="reasons">
      <legend class="unseen">Reasons of those that were scanned</legend>
      {most.map(([reason, count]) => (
        <button
          key={reason}
          type="button"
          class="chip"
          aria-pressed={chosen === reason}
          onClick={({ currentTarget: { form } }) => {
            if (form !== null) onChoice(form, chosen === reason ? '' : reason);
          }}
        >
          <bdi>{excerpt(reason, 60)}</bdi> {numberText(count)}
        </button>
      ))}
    </fieldset>
  );
}
