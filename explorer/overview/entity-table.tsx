import type { ComponentChildren } from 'preact';
import { deadLettersOf, type ShownEntity } from '../namespace/entity.ts';
import type { History } from '../namespace/history.ts';
import { bytesText, countText } from '../ui/format.ts';
import { hrefOf } from '../ui/route.ts';
import { Rows } from '../ui/rows.tsx';
import type { SortKey } from './sort-entities.ts';
import { Sparkline } from './sparkline.tsx';

const ROW_HEIGHT = 34;

/** The columns by which one can sort, and whether a phone has room for them. */
const COLUMNS: readonly { readonly title: string; readonly by: SortKey; readonly wide?: true }[] = [
  { title: 'Entity', by: 'name' },
  { title: 'Dead letters', by: 'attention' },
  { title: 'Active', by: 'active' },
  { title: 'Scheduled', by: 'scheduled', wide: true },
  { title: 'Deferred', by: 'deferred', wide: true },
  { title: 'Transfer dead letters', by: 'transfer', wide: true },
  { title: 'Size', by: 'size', wide: true },
];

/** The properties of the table. */
export interface EntityTableProps {
  readonly entities: readonly ShownEntity[];
  readonly history: History;
  readonly sortKey: SortKey;
  readonly onSort: (key: SortKey) => void;
}

/** Entities with their counts, one in a row. */
export function EntityTable({ entities, history, sortKey, onSort }: EntityTableProps) {
  return (
    <Rows
      rows={entities}
      rowHeight={ROW_HEIGHT}
      label="Queues, topics and subscriptions"
      columns={COLUMNS.length + 1}
      head={<Head sortKey={sortKey} onSort={onSort} />}
      draw={(entity, place) => (
        <EntityRow key={entity.name} place={place} entity={entity} history={history} />
      )}
    />
  );
}

function Head({ sortKey, onSort }: Pick<EntityTableProps, 'sortKey' | 'onSort'>) {
  return (
    <tr aria-rowindex={1}>
      {COLUMNS.map(({ title, by, wide }) => (
        <th
          key={by}
          scope="col"
          class={wide ? 'wide' : undefined}
          aria-sort={by === sortKey ? (by === 'name' ? 'ascending' : 'descending') : 'none'}
        >
          <button type="button" class="sort" onClick={() => onSort(by)}>
            {title}
          </button>
        </th>
      ))}
      <th scope="col" class="wide">
        Trend
      </th>
    </tr>
  );
}

function EntityRow({
  place,
  entity,
  history,
}: {
  readonly place: number;
  readonly entity: ShownEntity;
  readonly history: History;
}) {
  const {
    name,
    kind,
    active,
    scheduled,
    deferred,
    transferDeadLetter,
    deadLetter,
    sizeInBytes,
    isEstimate,
    status,
  } = entity;
  const dead = deadLettersOf(entity);
  const isTopic = kind === 'topic';
  const tab = deadLetter > 0 ? 'dead-letter' : transferDeadLetter > 0 ? 'transfer' : '';
  return (
    <tr aria-rowindex={place} class={dead > 0 ? 'has-dead' : undefined}>
      <th scope="row">
        <a href={hrefOf({ view: 'entity', entity: name, tab })} title={name}>
          {name}
        </a>{' '}
        <small>{kind}</small>
        {status !== 'Active' && <small class="status">{status}</small>}
      </th>
      <Count value={deadLetter} isEstimate={isEstimate} class="dead" isBlank={isTopic}>
        {transferDeadLetter > 0 && (
          <span class="narrow"> +{countText(transferDeadLetter, isEstimate)}</span>
        )}
      </Count>
      <Count value={active} isEstimate={isEstimate} isBlank={isTopic} />
      <Count value={scheduled} isEstimate={isEstimate} class="wide" />
      <Count value={deferred} isEstimate={isEstimate} class="wide" isBlank={isTopic} />
      <Count
        value={transferDeadLetter}
        isEstimate={isEstimate}
        class="dead wide"
        isBlank={isTopic}
      />
      <td class="number wide">{isTopic || sizeInBytes > 0 ? bytesText(sizeInBytes) : ''}</td>
      <td class="wide">{!isTopic && <Sparkline samples={history.of(name)} />}</td>
    </tr>
  );
}

function Count(props: {
  readonly value: number;
  readonly isEstimate: boolean;
  readonly class?: string;
  readonly isBlank?: boolean;
  readonly children?: ComponentChildren;
}) {
  const { value, isEstimate, isBlank = false, class: kind = '', children } = props;
  return (
    <td class={`number ${kind} ${value === 0 ? 'zero' : ''}`}>
      {!isBlank && countText(value, isEstimate)}
      {children}
    </td>
  );
}
