import type { Call, History } from '../history.ts';
import type { World } from '../world.ts';
import { deliveriesOf, lastsUntil, maxDeliveriesOf } from './deliveries.ts';

/** No receive is empty while a message was available all the time. */
export function falseEmpties(history: History, world: World): string[] {
  if (history.mayHave('accept')) return [];
  return history.of('receive', 'receiveAndDelete').flatMap((call) => {
    if (call.outcome !== 'done' || call.deliveries.length > 0) return [];
    if (call.abortedAt !== undefined) return [];
    const sends = history
      .of('send')
      .filter(
        ({ outcome, end, path }) => outcome === 'done' && end <= call.start && path === call.path,
      )
      .filter(({ mayExpire }) => mayExpire !== true);
    const most = maxDeliveriesOf(world, call.path);
    const isUsedUp = (tag: string) =>
      deliveriesOf(history).filter(({ delivery }) => delivery.tag === tag).length >= most;
    return sends
      .flatMap(({ tags }) => tags)
      .filter((tag) => !isUsedUp(tag) && isFree(history, tag, call))
      .map((tag) => `${call.actor} received nothing, though ${tag} was available.`);
  });
}

/** Operations that do not move a message; the deliveries of a receive are judged below. */
const HARMLESS = new Set(['send', 'receive', 'schedule', 'sweep', 'create', 'renew']);

/** Whether a message was certainly available during a call. */
function isFree(history: History, tag: string, during: Call): boolean {
  return history.calls.every((call) => {
    if (call === during || call.start > during.end) return true;
    // An aborted receive puts a message back after its answer.
    const mayHold = call.outcome === 'unknown' || call.abortedAt !== undefined;
    if (call.kind === 'receive' && mayHold) return false;
    if (!HARMLESS.has(call.kind) && call.outcome !== 'refused') {
      const isAbandoned =
        call.kind === 'abandon' && call.outcome === 'done' && call.end <= during.start;
      const isOther = call.delivery !== undefined && call.delivery.tag !== tag;
      if (!isAbandoned && !isOther) return false;
      // Other processes may see an abandoned message later.
      if (isAbandoned && call.actor !== during.actor) return false;
      if (isAbandoned) return true;
    }
    return call.deliveries.every((delivery) => {
      if (delivery.tag !== tag) return true;
      const isBack = history
        .of('abandon')
        .some((one) => one.delivery?.lockToken === delivery.lockToken && one.end <= during.start);
      return isBack || lastsUntil(history, delivery) <= during.startAt;
    });
  });
}
