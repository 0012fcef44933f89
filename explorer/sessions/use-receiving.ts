import { useEffect, useRef, useState } from 'preact/hooks';
import { RefusalError } from '../../client/client-errors.ts';
import { subQueueOf } from '../../client/entity-path.ts';
import type { ClientMessage } from '../../client/message.ts';
import {
  acceptSession,
  type HeldSession,
  receive,
  releaseSession,
  type Settlement,
  settle,
} from '../../client/message-calls.ts';
import { useConnection } from '../namespace/connection.ts';
import { useAttempt } from '../ui/use-attempt.ts';

const WAIT_MS = 5_000;
const DONE: Readonly<Record<Settlement['outcome'], string>> = {
  complete: 'Completed',
  abandon: 'Abandoned',
  deadLetter: 'Dead-lettered',
  defer: 'Deferred',
};

/** What is locked, and what came of the last step. */
export interface Receiving {
  readonly message: ClientMessage | undefined;
  readonly held: HeldSession | undefined;
  /** A settlement was refused, as it is when the lock has ended. */
  readonly isRefused: boolean;
  readonly isBusy: boolean;
  readonly said: string;
  readonly error: unknown;
  receiveOne(): Promise<boolean>;
  settleAs(settlement: Settlement): Promise<boolean>;
}

/**
 * Receives one message after the other under locks; with `sessionId`, in that session, which it holds meanwhile. Who
 * leaves gives back what is locked. `onChanged` is called when a message was settled.
 */
export function useReceiving(
  entity: string,
  sessionId: string | undefined,
  onChanged: () => void,
): Receiving {
  const { caller } = useConnection();
  const { attempt, error, isBusy } = useAttempt();
  const [held, setHeld] = useState<HeldSession>();
  const [message, setMessage] = useState<ClientMessage>();
  const [isRefused, setRefused] = useState(false);
  const [said, setSaid] = useState('');
  const path = subQueueOf(entity, 'main');
  const giveBack = async (session?: HeldSession, locked?: ClientMessage) => {
    if (session !== undefined) await releaseSession(caller, path, session);
    else if (locked?.lockToken !== undefined) {
      await settle(caller, path, [locked.lockToken], { outcome: 'abandon' });
    }
  };
  /** The settlement of the message that is locked, or was last. */
  const settling = useRef<Promise<boolean> | undefined>(undefined);
  const isLeft = useGivingBack(async () => {
    const isSettled = await settling.current;
    await giveBack(held, isSettled === true ? undefined : message);
  });
  const accept = async (id: string): Promise<HeldSession> => {
    const session = await acceptSession(caller, path, { sessionId: id, waitMs: 0 });
    if (session === undefined) throw new Error('The session cannot be accepted now.');
    setHeld(session);
    return session;
  };
  const receiveOne = () =>
    attempt(async () => {
      setSaid('');
      const session = sessionId === undefined ? undefined : (held ?? (await accept(sessionId)));
      if (isLeft()) return await giveBack(session);
      const request = { maxMessages: 1, waitMs: WAIT_MS, isDeleting: false, session };
      const [next] = await receive(caller, path, request).catch((failure) => {
        // The next try accepts the session again.
        if (isSessionLost(failure)) setHeld(undefined);
        throw failure;
      });
      if (isLeft()) return await giveBack(session, next);
      settling.current = undefined;
      setMessage(next);
      setRefused(false);
      if (next === undefined) setSaid('No message came within 5 s.');
    });
  const settleAs = (settlement: Settlement) => {
    settling.current = attempt(async () => {
      const lockToken = message?.lockToken ?? '';
      const [why] = (await settle(caller, path, [lockToken], settlement, sessionId)).values();
      setRefused(why !== undefined);
      if (why !== undefined) throw new Error(why);
      setSaid(`${DONE[settlement.outcome]} message ${message?.sequenceNumber}.`);
      setMessage(undefined);
      onChanged();
    });
    return settling.current;
  };
  return { message, held, isRefused, isBusy, said, error, receiveOne, settleAs };
}

/**
 * Calls the last `giveBack` when this part of the page is left. If it fails, the locks end by themselves, later.
 * Returns whether the part was left: what is locked after that must be given back by who has locked it.
 */
function useGivingBack(giveBack: () => Promise<unknown>): () => boolean {
  const last = useRef(giveBack);
  const isLeft = useRef(false);
  last.current = giveBack;
  useEffect(
    () => () => {
      isLeft.current = true;
      last.current().catch(() => {});
    },
    [],
  );
  return () => isLeft.current;
}

function isSessionLost(error: unknown): boolean {
  return error instanceof RefusalError && error.code === 'SessionLockLost';
}
