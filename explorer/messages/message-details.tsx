import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { membersOf } from '../../client/json-text.ts';
import type { ClientMessage } from '../../client/message.ts';
import { bytesText } from '../ui/format.ts';
import { pageSettings } from '../ui/settings.ts';
import { Time } from '../ui/time.tsx';
import { useObservable } from '../ui/use-observable.ts';
import { showBody, textOf } from './body.ts';
import { reasonOf } from './filter.ts';
import { isUnlimited, type ShownProperty, shownProperties } from './shown-properties.ts';
import { visible } from './visible-text.ts';

/** Everything about one message. Whatever it contains is shown as text. */
export function MessageDetails({
  message,
  onClose,
}: {
  readonly message: ClientMessage;
  /** Absent where it stays. */
  readonly onClose?: () => void;
}) {
  const { sequenceNumber, properties, body } = message;
  const reason = reasonOf(message);
  const text = textOf(body);
  const members = membersOf(message.text);
  const description = properties['DeadLetterErrorDescription'];
  return (
    <aside
      class="details"
      aria-label={`Message ${sequenceNumber}`}
      ref={useVisibleFocus(sequenceNumber)}
      tabIndex={-1}
    >
      <header>
        <h2>Message {String(sequenceNumber)}</h2>
        {text !== undefined && text !== '' && (
          <Copy key={`body ${sequenceNumber}`} title="Copy body" text={() => text} />
        )}
        <Copy key={`json ${sequenceNumber}`} title="Copy as JSON" text={() => message.text} />
        {onClose !== undefined && (
          <button type="button" class="quiet" onClick={onClose}>
            Close
          </button>
        )}
      </header>
      {reason !== '' && (
        <p class="notice bad">
          <strong>{visible(reason)}</strong> {visible(String(description ?? ''))}
        </p>
      )}
      <Body key={sequenceNumber} body={body} />
      <Properties title="Properties" json={members.get('UserProperties')} />
      <Properties title="System properties" json={members.get('BrokerProperties')} isSystem />
    </aside>
  );
}

/**
 * Takes the focus where the list that had it is hidden by this, as on a phone, so that Escape closes it; gives the
 * focus back when it is closed.
 */
function useVisibleFocus(sequenceNumber: bigint) {
  const details = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    if (!(before instanceof HTMLElement) || before.checkVisibility()) return;
    details.current?.focus();
    // After the list is shown again.
    return () => queueMicrotask(() => before.focus());
  }, [sequenceNumber]);
  return details;
}

/** How long a button says that it has copied. */
const COPIED_MS = 2_000;

/** Copies a text, where the browser lets a page do that: on https and on localhost. */
function Copy({ title, text }: { readonly title: string; readonly text: () => string }) {
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    if (!isDone) return;
    const timer = setTimeout(() => setDone(false), COPIED_MS);
    return () => clearTimeout(timer);
  }, [isDone]);
  if (navigator.clipboard === undefined) return null;
  const copy = () => {
    navigator.clipboard.writeText(text()).then(
      () => setDone(true),
      () => setDone(false),
    );
  };
  return (
    <button type="button" class="quiet" onClick={copy}>
      {isDone ? 'Copied' : title}
    </button>
  );
}

function Body({ body }: { readonly body: Uint8Array }) {
  const [isAll, setAll] = useState(false);
  const shown = showBody(body, isAll);
  if (shown.kind === 'empty') return <p class="hint">The body is empty.</p>;
  return (
    <section>
      <h3>
        Body <small>{`${shown.kind}, ${bytesText(body.length)}`}</small>
      </h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard. */}
      <pre class="body" dir="ltr" tabIndex={0}>
        {visible(shown.text)}
      </pre>
      {shown.isCut && !isAll && (
        <button type="button" onClick={() => setAll(true)}>
          Show all of it
        </button>
      )}
      {shown.isCut && isAll && (
        <p class="hint">
          A page cannot show more of it. “Download” of a list of messages saves all of it.
        </p>
      )}
    </section>
  );
}

/** The names of system properties that are instants. */
const SYSTEM_INSTANT = /Utc$/;

function Properties({
  title,
  json,
  isSystem = false,
}: {
  readonly title: string;
  readonly json: string | undefined;
  /** Whether these are system properties; a user property may have any name and value. */
  readonly isSystem?: boolean;
}) {
  const shown = shownProperties(json);
  if (shown.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {shown.map((property) =>
          isSystem && SYSTEM_INSTANT.test(property.name) ? (
            <Instant key={property.name} {...property} />
          ) : (
            <Property key={property.name} isSystem={isSystem} {...property} />
          ),
        )}
      </dl>
    </section>
  );
}

/** A system property that is an instant. Its name ends with Utc, which the time that is shown may not be. */
function Instant({ name, text }: ShownProperty) {
  const { times } = useObservable(pageSettings);
  return (
    <div>
      <dt>
        {name.replace(SYSTEM_INSTANT, '')} <small>{times === 'utc' ? 'UTC' : 'local time'}</small>
      </dt>
      <dd>
        <Time at={Date.parse(text)} />
      </dd>
    </div>
  );
}

function Property({ name, type, text, isSystem }: ShownProperty & { readonly isSystem: boolean }) {
  const isEndless = isSystem && name === 'TimeToLive' && isUnlimited(text);
  return (
    <div>
      <dt>
        {visible(name)} <small>{type}</small>
      </dt>
      <dd>
        <bdi>{isEndless ? 'unlimited' : visible(text)}</bdi>
      </dd>
    </div>
  );
}
