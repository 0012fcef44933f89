import type { ClientMessage } from '../../client/message.ts';
import { useConnection } from '../namespace/connection.ts';
import { bytesText, spanText } from '../ui/format.ts';
import { useNow } from '../ui/now.ts';
import { Rows } from '../ui/rows.tsx';
import { pageSettings } from '../ui/settings.ts';
import { Time, timeText } from '../ui/time.tsx';
import { useObservable } from '../ui/use-observable.ts';
import { textOf } from './body.ts';
import { reasonOf } from './filter.ts';
import type { MessageTab } from './tabs.ts';
import { excerpt } from './visible-text.ts';

const ROW_HEIGHT = 34;
const BODY_CHARACTERS = 140;
/** Bytes of a body of which the excerpt is made. */
const BODY_BYTES = 1024;

/** The properties of the table of messages. */
export interface MessageTableProps {
  readonly tab: MessageTab;
  readonly messages: readonly ClientMessage[];
  readonly selected: ReadonlySet<bigint>;
  readonly opened: bigint | undefined;
  readonly onSelect: (selected: ReadonlySet<bigint>) => void;
  readonly onOpen: (sequenceNumber: bigint) => void;
  readonly onNearEnd: () => void;
}

/** Messages, one in a row. */
export function MessageTable(props: MessageTableProps) {
  const { tab, messages, onNearEnd } = props;
  return (
    <Rows
      rows={messages}
      rowHeight={ROW_HEIGHT}
      label={`${tab.title} messages`}
      columns={7}
      head={<Head {...props} />}
      draw={(message, place) => (
        <Row key={message.sequenceNumber} place={place} message={message} {...props} />
      )}
      onNearEnd={onNearEnd}
    />
  );
}

function Head({ tab, messages, selected, onSelect }: MessageTableProps) {
  const areAll = messages.length > 0 && selected.size === messages.length;
  return (
    <tr aria-rowindex={1}>
      <th scope="col" class="tick">
        <input
          type="checkbox"
          aria-label="Select all that are shown"
          checked={areAll}
          onChange={() =>
            onSelect(new Set(areAll ? [] : messages.map(({ sequenceNumber }) => sequenceNumber)))
          }
        />
      </th>
      <th scope="col">Number</th>
      <th scope="col" class="left wide">
        {tab.id === 'scheduled' ? 'Due' : 'Enqueued'}
      </th>
      <th scope="col" class="left">
        {SUBJECTS[tab.id] ?? 'Subject'}
      </th>
      <th scope="col" class="left">
        Body
      </th>
      <th scope="col" class="wide">
        Deliveries
      </th>
      <th scope="col" class="wide">
        Size
      </th>
    </tr>
  );
}

function Row({
  place,
  message,
  tab,
  selected,
  opened,
  onSelect,
  onOpen,
}: MessageTableProps & { readonly place: number; readonly message: ClientMessage }) {
  const { sequenceNumber, system, body } = message;
  const isSelected = selected.has(sequenceNumber);
  const { aheadMs } = useConnection();
  const isExpired =
    tab.state === 'Active' &&
    Date.parse(String(system['ExpiresAtUtc'])) <= Date.now() + aheadMs.value;
  const tick = () => {
    const next = new Set(selected);
    if (!next.delete(sequenceNumber)) next.add(sequenceNumber);
    onSelect(next);
  };
  return (
    <tr
      aria-rowindex={place}
      class={opened === sequenceNumber ? 'opened' : undefined}
      aria-selected={isSelected}
      onClick={() => onOpen(sequenceNumber)}
    >
      <td class="tick">
        <input
          type="checkbox"
          aria-label={`Select message ${sequenceNumber}`}
          checked={isSelected}
          onClick={(event) => event.stopPropagation()}
          onChange={tick}
        />
      </td>
      <th scope="row" class="number">
        <button type="button" class="link" onClick={() => onOpen(sequenceNumber)}>
          {String(sequenceNumber)}
        </button>
      </th>
      <td class="wide">
        <Time at={Date.parse(String(system['EnqueuedTimeUtc']))} />
      </td>
      <td class="subject">
        {isExpired && <small class="status">expired </small>}
        {tab.id === 'scheduled' ? (
          <Due at={Date.parse(String(system['ScheduledEnqueueTimeUtc']))} />
        ) : (
          <bdi>{excerpt(subjectOf(message, tab), 60)}</bdi>
        )}
      </td>
      <td class="excerpt">
        <bdi>{bodyExcerpt(body)}</bdi>
      </td>
      <td class="number wide">{String(system['DeliveryCount'] ?? '')}</td>
      <td class="number wide">{bytesText(body.length)}</td>
    </tr>
  );
}

/** What the third column shows where it is not the subject. */
const SUBJECTS: Readonly<Partial<Record<MessageTab['id'], string>>> = {
  'dead-letter': 'Reason',
  transfer: 'Reason',
  scheduled: 'Due in',
};

function subjectOf(message: ClientMessage, { id }: MessageTab): string {
  if (SUBJECTS[id] === 'Reason') return reasonOf(message);
  return String(message.system['Label'] ?? '');
}

/** How long until an instant, by the clock of the namespace. */
function Due({ at }: { readonly at: number }) {
  const { aheadMs } = useConnection();
  const { times } = useObservable(pageSettings);
  const left = at - useNow() - useObservable(aheadMs);
  return <span title={timeText(new Date(at), times)}>{left > 0 ? spanText(left) : 'now'}</span>;
}

function bodyExcerpt(body: Uint8Array): string {
  const begin = body.subarray(0, BODY_BYTES);
  // The begin of a long text may end within a character.
  const text = body.length > BODY_BYTES ? new TextDecoder().decode(begin) : textOf(begin);
  if (text !== undefined) return excerpt(text, BODY_CHARACTERS);
  return `bytes ${[...begin.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join(' ')}…`;
}
