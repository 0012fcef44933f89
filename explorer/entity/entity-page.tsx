import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { MessagesView } from '../messages/messages-view.tsx';
import { MESSAGE_TABS } from '../messages/tabs.ts';
import { visible } from '../messages/visible-text.ts';
import { useConnection } from '../namespace/connection.ts';
import { readEntity, type ShownEntity } from '../namespace/entity.ts';
import { getEntity, type ReachedEntity } from '../namespace/manage.ts';
import { SendView } from '../send/send-view.tsx';
import { ReceiveView } from '../sessions/receive-view.tsx';
import { SessionsView } from '../sessions/sessions-view.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { hrefOf } from '../ui/route.ts';
import { useInterval } from '../ui/use-interval.ts';
import { useObservable } from '../ui/use-observable.ts';
import { ConsumersView } from './consumers-view.tsx';
import { type EntityTab, tabsOf } from './entity-tabs.ts';
import { RulesView } from './rules-view.tsx';
import { SettingsView } from './settings-view.tsx';
import { SubscriptionsView } from './subscriptions-view.tsx';

/** One queue, topic or subscription. */
export function EntityPage({ entity, tab }: { readonly entity: string; readonly tab: string }) {
  const { caller, jobs, pauseMs } = useConnection();
  const [read, setRead] = useState<ReachedEntity>();
  const [error, setError] = useState<unknown>();
  const [isReading, setReading] = useState(true);
  const [reloadKey, setReloadKey] = useState(0);
  const isWorking = useObservable(jobs.current)?.isRunning === true;
  useEffect(() => {
    // Its counts are read again when work has ended.
    if (isWorking) return;
    let isLatest = true;
    const ended = (now: ReachedEntity | undefined, failure?: unknown) => {
      if (!isLatest) return;
      if (now !== undefined) setRead(now);
      setError(failure);
      setReading(false);
    };
    setReading(true);
    getEntity(caller, entity).then(ended, (failure) => ended(undefined, failure));
    return () => {
      isLatest = false;
    };
  }, [caller, entity, isWorking, reloadKey]);
  const reload = useCallback(() => setReloadKey((before) => before + 1), []);
  // Of an entity that the access may not manage, nothing is known that changes.
  useInterval(read?.right === 'manage' && !isReading ? pauseMs : undefined, reload);
  const shown = read && readEntity(read.json, read.right, read.canSend);
  const tabs = shown === undefined ? [] : tabsOf(shown);
  const current = tabs.find(({ id }) => id === tab) ?? tabs[0];
  return (
    <>
      <div class="toolbar">
        <h1>
          <a href="#/">All entities</a> / {visible(entity)}
          {shown !== undefined && shown.status !== 'Active' && (
            <strong class="status"> {shown.status}</strong>
          )}
        </h1>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      <Tabs entity={entity} tabs={tabs} current={current?.id} />
      {read !== undefined && shown !== undefined && (
        <Part
          // What is shown of an entity is not that of a later one with its name.
          key={`${current?.id} ${read.json['createdAt']}`}
          id={current?.id ?? ''}
          entity={shown}
          read={read}
          onChanged={reload}
        />
      )}
    </>
  );
}

function Tabs({
  entity,
  tabs,
  current,
}: {
  readonly entity: string;
  readonly tabs: readonly EntityTab[];
  readonly current: string | undefined;
}) {
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    // A phone shows a part of the row.
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ inline: 'center' });
  }, [current]);
  return (
    <nav ref={nav} class="tabs" aria-label="Parts of the entity">
      {tabs.map(({ id, title, count }) => (
        <a
          key={id}
          href={hrefOf({ view: 'entity', entity, tab: id })}
          aria-current={id === current ? 'page' : undefined}
        >
          {title} {count !== undefined && <small>{count}</small>}
        </a>
      ))}
    </nav>
  );
}

function Part({
  id,
  entity,
  read,
  onChanged,
}: {
  readonly id: string;
  readonly entity: ShownEntity;
  readonly read: ReachedEntity;
  readonly onChanged: () => void;
}) {
  const { name } = entity;
  switch (id) {
    case 'subscriptions':
      return <SubscriptionsView topic={entity} />;
    case 'sessions':
      return <SessionsView entity={name} onChanged={onChanged} />;
    case 'receive':
      return <ReceiveView entity={name} onChanged={onChanged} />;
    case 'send':
      return <SendView entity={name} onChanged={onChanged} />;
    case 'rules':
      return <RulesView subscription={name} />;
    case 'consumers':
      return <ConsumersView entity={name} />;
    case 'settings':
      return <SettingsView entity={read} onChanged={onChanged} />;
    default: {
      const tab = MESSAGE_TABS.find((one) => one.id === id);
      return tab === undefined ? null : (
        <MessagesView entity={entity} tab={tab} onChanged={onChanged} />
      );
    }
  }
}
