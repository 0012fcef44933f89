import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Caller } from '../../client/call.ts';
import { Jobs } from '../actions/jobs.ts';
import { type Access, authorizer } from '../api/access.ts';
import { BrowserCaller } from '../api/browser-caller.ts';
import type { UnsavedSettings } from '../entity/settings-fields.ts';
import type { Unsent } from '../send/unsent.ts';
import { Observable } from '../ui/observable.ts';
import { EntityList, PAUSE_MS_MIN } from './entity-list.ts';
import { Kept } from './kept.ts';

/** What the server tells the page before anybody has shown a right. */
export interface About {
  readonly place: 'local' | 'deployed';
  /** `forwarded` = by `dynabus explorer`, which has the rights. */
  readonly access: 'sas' | 'iam' | 'forwarded';
  readonly publicKey?: string;
  readonly namespace?: string;
  /** Whether the server refuses changes. */
  readonly isReadOnly?: boolean;
}

/** The work with one namespace, with the rights of one access. */
export interface Connection {
  readonly about: About;
  readonly access: Access;
  readonly caller: Caller;
  readonly list: EntityList;
  readonly jobs: Jobs;
  /** The messages that somebody writes to be sent. */
  readonly unsent: Kept<Unsent>;
  /** The settings that somebody changes. */
  readonly unsavedSettings: Kept<UnsavedSettings>;
  /** The shortest time between two readings of the same counts. */
  readonly pauseMs: number;
  /** How far the clock of a local namespace is ahead of the machine's, ms. */
  readonly aheadMs: Observable<number>;
  /** Whether the page offers to change anything. */
  readonly isReadOnly: Observable<boolean>;
}

/** Begins to work with the namespace that serves this page. */
export function openConnection(about: About, access: Access): Connection {
  const caller = new BrowserCaller(location.origin, authorizer(access, location.origin));
  return {
    about,
    access,
    caller,
    list: new EntityList(caller, about.place),
    jobs: new Jobs(),
    unsent: new Kept(),
    unsavedSettings: new Kept(),
    pauseMs: PAUSE_MS_MIN[about.place],
    aheadMs: new Observable(0),
    isReadOnly: new Observable(about.isReadOnly === true || about.place !== 'local'),
  };
}

const ConnectionContext = createContext<Connection | undefined>(undefined);

/** Gives a connection to everything below. */
export const ConnectionProvider = ConnectionContext.Provider;

/** The connection that is open. */
export function useConnection(): Connection {
  const connection = useContext(ConnectionContext);
  if (connection === undefined) throw new Error('No connection is open here.');
  return connection;
}
