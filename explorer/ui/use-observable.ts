import { useEffect, useState } from 'preact/hooks';
import type { Observable } from './observable.ts';

/** The value of an observable; the component is drawn again when it changes. */
export function useObservable<Value>(observable: Observable<Value>): Value {
  const [, draw] = useState<object>();
  useEffect(() => {
    const listener = () => draw({});
    // It may have changed between the drawing and this.
    listener();
    return observable.listen(listener);
  }, [observable]);
  return observable.value;
}
