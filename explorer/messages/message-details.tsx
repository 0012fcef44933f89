import { useEffect, useState } from 'preact/hooks';
import { membersOf } from '../../client/json-text.ts';
import type { ClientMessage } from '../../client/message.ts';
import { bytesText } from '../ui/format.ts';
import { Time } from '../ui/time.tsx';
import { showBody, textOf } from './body.ts';
import { reasonOf } from './filter.ts';
import { shownProperties } from './shown-properties.ts';
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
    <aside class="details" aria-label={`Message ${sequenceNumber}`}>
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
      <Properties
        title="System properties"
        json={members.get('BrokerProperties')}
        instants={SYSTEM_INSTANT}
      />
    </aside>
  );
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

/** The names of system properties that are instants; a user property may have such a name and any value. */
const SYSTEM_INSTANT = /Utc$/;

function Properties({
  title,
  json,
  instants,
}: {
  readonly title: string;
  readonly json: string | undefined;
  /** The names of those that are instants; absent = none is. */
  readonly instants?: RegExp;
}) {
  const shown = shownProperties(json);
  if (shown.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {shown.map(({ name, type, text }) => (
          <div key={name}>
            <dt>
              {visible(name)} <small>{type}</small>
            </dt>
            <dd>
              {instants?.test(name) ? <Time at={Date.parse(text)} /> : <bdi>{visible(text)}</bdi>}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
